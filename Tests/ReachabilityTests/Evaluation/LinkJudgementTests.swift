import CRingwakeNetlink
import Testing

@testable import Reachability

@Suite("Judging a link")
struct LinkJudgementTests {
    @Test("a link that is switched off is down, though the route is there")
    func adminDown() throws {
        let (scene, ethernet) = try Scene.office()
        // Whatever else the flags and the operational state say.
        try scene.change(ethernet) { $0.flags = IFF_LOWER_UP.rawValue | IFF_RUNNING.rawValue }
        let result = try scene.judge("198.51.100.1")
        #expect(result.unsatisfiedReason == .interfaceDown)
        #expect(result.interface?.index == ethernet)
    }

    @Test(
        "an operational state other than up and unknown has no carrier",
        arguments: [IF_OPER_DOWN, IF_OPER_LOWERLAYERDOWN, IF_OPER_NOTPRESENT, IF_OPER_TESTING, 99])
    func noCarrier(_ state: Int) throws {
        let (scene, ethernet) = try Scene.office()
        // IFF_LOWER_UP is seen together with NO-CARRIER, and means nothing.
        try scene.change(ethernet) {
            $0.operationalState = UInt8(state)
            $0.flags |= IFF_LOWER_UP.rawValue | IFF_RUNNING.rawValue
        }
        for target in ["198.51.100.1", "192.0.2.77", "2001:db8:1::1"] {
            let result = try scene.judge(target)
            #expect(result.unsatisfiedReason == .noCarrier)
            #expect(result.interface?.index == ethernet)
        }
    }

    @Test("an unknown operational state is up, without IFF_LOWER_UP too")
    func unknownState() throws {
        let (scene, ethernet) = try Scene.office()
        try scene.change(ethernet) { $0.operationalState = UInt8(IF_OPER_UNKNOWN) }
        #expect(try scene.judge("198.51.100.1").isReachable)
    }

    @Test("a dormant Ethernet or Wi-Fi is out of reach", arguments: ["eth7", "wlan0"])
    func dormantEthernet(_ name: String) throws {
        let scene = try Scene()
        let link = scene.link(name, state: IF_OPER_DORMANT)
        try scene.address("192.0.2.10/24", on: link)
        try scene.route("default", on: link, via: "192.0.2.1")
        #expect(try scene.judge("any").unsatisfiedReason == .interfaceDormant)
        #expect(try scene.path().status == .unsatisfied)
    }

    @Test("a dormant modem requires a connection, which traffic makes, and no address", arguments: [true, false])
    func dormantModem(_ hasAddress: Bool) throws {
        let scene = try Scene()
        let link = scene.link("wwan0", state: IF_OPER_DORMANT)
        if hasAddress { try scene.address("192.0.2.10/24", on: link) }
        try scene.route("default", on: link)
        let result = try scene.judge("198.51.100.1")
        #expect(
            result.flags == [.reachable, .transientConnection, .connectionRequired, .connectionOnTraffic, .isWWAN])
        #expect(result.status == .requiresConnection)
        #expect(result.unsatisfiedReason == .connectionRequired)
        let path = try scene.path()
        #expect(path.status == .requiresConnection)
        #expect(path.interfaces.map(\.name) == ["wwan0"])
        #expect(path.isExpensive)
    }

    @Test("a dormant point-to-point link requires a connection")
    func dormantPointToPoint() throws {
        let scene = try Scene()
        let link = scene.link("ppp0", kind: "ppp", state: IF_OPER_DORMANT, hardware: ARPHRD_PPP, pointToPoint: true)
        try scene.route("default", on: link)
        let result = try scene.judge("any")
        #expect(result.flags == [.reachable, .transientConnection, .connectionRequired, .connectionOnTraffic])
    }

    @Test("what the configuration says of the connection is told while one is required, and only then")
    func configuredConnection() throws {
        var scene = try Scene()
        let link = scene.link("eth0", state: IF_OPER_DORMANT)
        try scene.address("192.0.2.10/24", on: link)
        try scene.route("default", on: link, via: "192.0.2.1")
        scene.overrides = [InterfaceOverride(name: "eth*", interventionRequired: true, connectionOnDemand: true)]
        let result = try scene.judge("any")
        #expect(result.status == .requiresConnection)
        #expect(result.flags.isSuperset(of: [.connectionRequired, .interventionRequired, .connectionOnDemand]))
        try scene.change(link) { $0.operationalState = UInt8(IF_OPER_UP) }
        #expect(try scene.judge("any").flags == .reachable)
    }

    @Test("point-to-point and tunnels are transient and never direct", arguments: ["tun", "wireguard", "", "xfrm"])
    func pointToPoint(_ kind: String) throws {
        let scene = try Scene()
        let link = scene.link("vpn0", kind: kind, hardware: ARPHRD_NONE, pointToPoint: kind.isEmpty)
        try scene.address("10.9.0.1/24", on: link)
        try scene.route("10.9.0.0/24", on: link)
        try scene.route("default", on: link, via: "10.9.0.2")
        for target in ["10.9.0.2", "198.51.100.1"] {
            let result = try scene.judge(target)
            #expect(result.flags == [.reachable, .transientConnection])
            #expect(result.interface?.type == .other)
        }
    }

    @Test("a tap is Ethernet: direct, not transient")
    func tap() throws {
        let scene = try Scene()
        let link = scene.link("tap0", kind: "tun")
        try scene.change(link) { $0.isTap = true }
        try scene.address("10.9.0.1/24", on: link)
        try scene.route("10.9.0.0/24", on: link)
        let result = try scene.judge("10.9.0.2")
        #expect(result.flags == [.reachable, .isDirect])
        #expect(result.interface?.type == .wiredEthernet)
    }

    @Test("a mobile network is WWAN, transient and expensive")
    func modem() throws {
        let scene = try Scene()
        let link = scene.link("wwan0")
        try scene.address("192.0.2.10/24", on: link)
        try scene.route("default", on: link, via: "192.0.2.1")
        let result = try scene.judge("198.51.100.1")
        #expect(result.flags == [.reachable, .transientConnection, .isWWAN])
        #expect(result.isExpensive)
        #expect(!result.isConstrained)
    }
}
