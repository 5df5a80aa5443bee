import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Judging a route")
struct RouteJudgementTests {
    @Test(
        "a refusal of the kernel is unsatisfied, with its reason",
        arguments: [
            (ENETUNREACH, UnsatisfiedReason.noRoute), (EHOSTUNREACH, .unreachable), (EACCES, .prohibited),
            (EINVAL, .blackhole), (ENOBUFS, .kernelError),
        ])
    func refusals(_ code: Int32, _ reason: UnsatisfiedReason) throws {
        let (scene, _) = try Scene.office()
        try scene.route("198.51.100.0/24", refusal: code)
        try scene.route("2001:db8:1::/48", refusal: code)
        for target in ["198.51.100.1", "2001:db8:1::1"] {
            let result = try scene.judge(target)
            #expect(result.unsatisfiedReason == reason)
            #expect(result.status == .unsatisfied)
            #expect(result.flags == [])
        }
    }

    @Test(
        "an answer whose type refuses is unsatisfied, with its reason",
        arguments: [
            (RTN_UNREACHABLE, UnsatisfiedReason.unreachable), (RTN_PROHIBIT, .prohibited), (RTN_BLACKHOLE, .blackhole),
            (RTN_THROW, .noRoute), (255, .noRoute),
        ])
    func refusingTypes(_ type: Int, _ reason: UnsatisfiedReason) throws {
        let (scene, ethernet) = try Scene.office()
        try scene.route("2001:db8:1::/48", on: ethernet, type: type)
        #expect(try scene.judge("2001:db8:1::1").unsatisfiedReason == reason)
    }

    @Test("through a gateway is reachable, with source and next hop", arguments: ["198.51.100.1", "2001:db8:1::1"])
    func gateway(_ target: String) throws {
        let (scene, ethernet) = try Scene.office()
        let result = try scene.judge(target)
        let isIPv4 = IPAddress(target)?.family == .ipv4
        #expect(result.flags == .reachable)
        #expect(result.status == .satisfied)
        #expect(result.unsatisfiedReason == nil)
        #expect(result.interface == NetworkInterface(index: ethernet, name: "eth0", type: .wiredEthernet))
        #expect(result.source == IPAddress(isIPv4 ? "192.0.2.10" : "2001:db8::10"))
        #expect(result.nextHop == IPAddress(isIPv4 ? "192.0.2.1" : "fe80::1"))
        #expect(result.supportsIPv4 == isIPv4)
        #expect(result.supportsIPv6 == !isIPv4)
        #expect(result.addresses == [try #require(IPAddress(target))])
    }

    @Test("a gateway of the other family is a gateway (RFC 5549)")
    func gatewayOfOtherFamily() throws {
        let scene = try Scene()
        let ethernet = scene.link("eth0")
        try scene.address("192.0.2.10/32", on: ethernet)
        try scene.route("default", on: ethernet, via: "fe80::1")
        let result = try scene.judge("198.51.100.1")
        #expect(result.flags == .reachable)
        #expect(result.nextHop == IPAddress("fe80::1"))
    }

    @Test("without a gateway is direct", arguments: ["192.0.2.77", "2001:db8::77"])
    func onLink(_ target: String) throws {
        let (scene, _) = try Scene.office()
        let result = try scene.judge(target)
        #expect(result.flags == [.reachable, .isDirect])
        #expect(result.nextHop == nil)
    }

    @Test(
        "broadcast and multicast are direct",
        arguments: [("192.0.2.255", RTN_BROADCAST), ("239.1.1.1", RTN_MULTICAST), ("ff02::1", RTN_MULTICAST)])
    func manyReceivers(_ target: String, _ type: Int) throws {
        let (scene, ethernet) = try Scene.office()
        try scene.route(target.contains(":") ? "ff00::/8" : "\(target)/32", on: ethernet, type: type)
        #expect(try scene.judge(target).flags == [.reachable, .isDirect])
    }

    @Test("an address of an interface is local and direct", arguments: ["192.0.2.10", "2001:db8::10", "fe80::10"])
    func ownAddress(_ target: String) throws {
        let (scene, _) = try Scene.office()
        let result = try scene.judge(target)
        #expect(result.flags == [.reachable, .isLocalAddress, .isDirect])
        #expect(result.interface?.type == .loopback)
    }

    @Test("an address of the loopback is local, not direct", arguments: ["127.0.0.1", "::1", "127.0.0.53"])
    func loopbackAddress(_ target: String) throws {
        let (scene, _) = try Scene.office()
        try scene.route("127.0.0.0/8", on: 1, type: RTN_LOCAL)
        #expect(try scene.judge(target).flags == [.reachable, .isLocalAddress])
    }

    @Test("a link-scope address of a link that is not kept is direct, by the kernel's table")
    func ownAddressOfOtherLink() throws {
        let (scene, _) = try Scene.office()
        let other = scene.link("eth1")
        try scene.address("169.254.7.7/16", on: other, scope: RT_SCOPE_LINK)
        #expect(try scene.judge("169.254.7.7").flags == [.reachable, .isLocalAddress, .isDirect])
    }

    @Test("a local address is out of reach while the loopback is down", arguments: ["127.0.0.1", "192.0.2.10"])
    func loopbackDown(_ target: String) throws {
        let (scene, _) = try Scene.office()
        try scene.down(1)
        let result = try scene.judge(target)
        #expect(result.unsatisfiedReason == .interfaceDown)
        #expect(result.interface?.name == "lo")
    }

    @Test("::1 is out of reach while the loopback is down, though the kernel finds the default route")
    func loopbackDownByIPv6() throws {
        let (scene, ethernet) = try Scene.office()
        try scene.down(1)
        scene.kernel.fixedAnswers[try #require(IPAddress("::1"))] = .route(
            Route(
                type: UInt8(RTN_UNICAST), interface: ethernet, gateway: IPAddress("fe80::1"),
                source: IPAddress("2001:db8::10")))
        let result = try scene.judge("::1")
        #expect(result.unsatisfiedReason == .interfaceDown)
        #expect(result.interface?.name == "lo")
    }

    @Test("a route over a link that is gone is no interface")
    func linkGone() throws {
        let (scene, _) = try Scene.office()
        try scene.route("198.51.100.0/24", on: 77)
        #expect(try scene.judge("198.51.100.1").unsatisfiedReason == .noInterface)
    }

    @Test("a silent kernel is an error of it, and the text is kept")
    func silence() throws {
        let (scene, _) = try Scene.office()
        _ = try scene.round()
        scene.kernel.isSilent = true
        var round = scene.later()
        #expect(round.reachability(of: .any).unsatisfiedReason == .kernelError)
        #expect(round.path().status == .unsatisfied)
        #expect(round.lastError == "RTM_GETROUTE: is silent")
    }
}
