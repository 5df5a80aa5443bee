import CRingwakeNetlink
import Testing

@testable import Reachability

@Suite("Classifying interfaces")
struct InterfaceClassifierTests {
    private func link(
        _ name: String, kind: String = "", hardware: UInt16 = UInt16(ARPHRD_ETHER), flags: net_device_flags? = nil
    ) -> LinkFacts {
        LinkFacts(
            index: 7, name: name, hardwareType: hardware, flags: flags?.rawValue ?? 0, operationalState: 0, kind: kind)
    }

    private func type(_ link: LinkFacts, _ deviceType: String = "") -> NetworkInterface.InterfaceType {
        InterfaceClassifier().traits(of: link, deviceType: deviceType).type
    }

    @Test("what behaves like Ethernet is wired", arguments: ["", "bridge", "bond", "vlan", "veth", "vxlan", "macvlan"])
    func wired(_ kind: String) {
        #expect(type(link("net0", kind: kind)) == .wiredEthernet)
        #expect(type(link("net0", kind: kind), "bridge") == .wiredEthernet)
    }

    @Test("the loopback is the loopback")
    func loopback() {
        #expect(type(link("lo", hardware: UInt16(ARPHRD_LOOPBACK), flags: IFF_LOOPBACK)) == .loopback)
    }

    @Test("Wi-Fi is known by the driver's word, or by name")
    func wifi() {
        #expect(type(link("ath0"), "wlan") == .wifi)
        #expect(type(link("wlan0")) == .wifi)
        #expect(type(link("wlp3s0")) == .wifi)
    }

    @Test("a mobile network is known by kind, by the driver's word, by raw IP frames, or by name")
    func cellular() {
        #expect(type(link("m0", kind: "wwan")) == .cellular)
        #expect(type(link("m0", kind: "rmnet")) == .cellular)
        #expect(type(link("m0"), "wwan") == .cellular)
        #expect(type(link("rmnet_data0", hardware: UInt16(ARPHRD_RAWIP))) == .cellular)
        #expect(type(link("rmnet_data0", hardware: 530)) == .cellular)
        #expect(type(link("wwan0")) == .cellular)
        #expect(type(link("wwp0s20", hardware: UInt16(ARPHRD_NONE), flags: IFF_POINTOPOINT)) == .cellular)
    }

    @Test(
        "a tunnel is something else, whatever its name",
        arguments: ["wireguard", "xfrm", "vti", "vti6", "ovpn", "ovpn-dco"])
    func tunnels(_ kind: String) {
        for name in ["vpn0", "wwork", "wlocal"] {
            let traits = InterfaceClassifier().traits(
                of: link(name, kind: kind, hardware: UInt16(ARPHRD_NONE)), deviceType: kind)
            #expect(traits.type == .other)
            #expect(traits.isPointToPoint && traits.isTransient && !traits.isExpensive)
        }
    }

    @Test("anything else is something else", arguments: [ARPHRD_INFINIBAND, ARPHRD_NONE, ARPHRD_SIT, ARPHRD_VOID])
    func others(_ hardware: Int32) {
        #expect(type(link("x0", hardware: UInt16(hardware))) == .other)
    }

    @Test("the configuration goes before all, and the first that matches counts")
    func overrides() {
        let classifier = InterfaceClassifier(overrides: [
            InterfaceOverride(name: "eth1", type: .wifi, isConstrained: true),
            InterfaceOverride(name: "eth*", type: .cellular),
            InterfaceOverride(name: "eth1", type: .other, isExpensive: true),
            InterfaceOverride(name: "wwan*", isExpensive: false),
        ])
        let first = classifier.traits(of: link("eth1"), deviceType: "wwan")
        #expect(first.type == .wifi && first.isConstrained && !first.isExpensive && !first.isTransient)
        let second = classifier.traits(of: link("eth2"), deviceType: "")
        #expect(second.type == .cellular && second.isExpensive && second.isTransient && !second.isConstrained)
        let third = classifier.traits(of: link("wwan0"), deviceType: "")
        #expect(third.type == .cellular && !third.isExpensive)
    }
}
