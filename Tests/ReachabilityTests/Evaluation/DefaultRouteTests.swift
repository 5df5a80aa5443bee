import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite("Default routes and host names")
struct DefaultRouteTests {
    @Test("either family is enough, IPv4's interface is named first")
    func eitherFamily() throws {
        let both = try Scene.office().scene.judge("any")
        #expect(both.isReachable && both.supportsIPv4 && both.supportsIPv6)
        #expect(both.source == IPAddress("192.0.2.10"))
        #expect(both.addresses == [])
        let (scene, _) = try Scene.office()
        scene.kernel.entries.removeAll { $0.length == 0 && $0.prefix.family == .ipv4 }
        let onlyIPv6 = try scene.judge("any")
        #expect(onlyIPv6.isReachable && !onlyIPv6.supportsIPv4 && onlyIPv6.supportsIPv6)
        #expect(onlyIPv6.source == IPAddress("2001:db8::10"))
        #expect(onlyIPv6.nextHop == IPAddress("fe80::1"))
    }

    @Test(
        "two halves are a default route, one is none",
        arguments: [
            (["0.0.0.0/1", "128.0.0.0/1"], true), (["0.0.0.0/1"], false), (["128.0.0.0/1"], false),
            (["::/1", "8000::/1"], true), (["2000::/3"], true), (["2000::/4"], false), (["3000::/4"], false),
            (["10.0.0.0/8"], false),
        ])
    func halves(_ prefixes: [String], _ isDefault: Bool) throws {
        let scene = try Scene()
        let vpn = scene.link("tun0", kind: "tun", hardware: ARPHRD_NONE, pointToPoint: true)
        try scene.address("10.9.0.1/32", on: vpn)
        try scene.address("2001:db8::9/128", on: vpn)
        for prefix in prefixes { try scene.route(prefix, on: vpn) }
        let result = try scene.judge("any")
        #expect(result.isReachable == isDefault)
        #expect(result.unsatisfiedReason == (isDefault ? nil : .noRoute))
        #expect(try scene.path().interfaces.map(\.name) == (isDefault ? ["tun0"] : []))
    }

    /// A default route with a hop over each link; the kernel chooses the first.
    @Test(
        "a default route with several hops can be used if any of them can",
        arguments: [
            ([.up, .up], "eth0", nil), ([.noCarrier, .up], "eth1", nil), ([.up, .noCarrier], "eth0", nil),
            ([.noCarrier, .noCarrier, .up], "eth2", nil), ([.noAddress, .up], "eth1", nil),
            ([.noCarrier, .dormant], "eth0", .noCarrier), ([.noCarrier, .noCarrier], "eth0", .noCarrier),
            ([.noCarrier, .noAddress], "eth0", .noCarrier), ([.dead, .up], "eth1", nil),
            ([.noCarrier, .dead], "eth0", .noCarrier),
        ] as [([Hop], String, UnsatisfiedReason?)])
    func hops(_ states: [Hop], _ interface: String, _ reason: UnsatisfiedReason?) throws {
        let scene = try Scene()
        var indexes: [UInt32] = []
        for (number, state) in states.enumerated() {
            let operational =
                switch state {
                case .noCarrier, .dead: IF_OPER_LOWERLAYERDOWN
                case .dormant: IF_OPER_DORMANT
                case .up, .noAddress: IF_OPER_UP
                }
            let link = scene.link("eth\(number)", state: operational)
            // A link-local address leads to no router.
            let address = state == .noAddress ? "169.254.0.\(number)/16" : "192.0.\(number).10/24"
            try scene.address(address, on: link, scope: state == .noAddress ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE)
            indexes.append(link)
        }
        // As it is read from the kernel's answer: without those that it calls dead.
        let alive = zip(indexes, states).filter { $1 != .dead }.map(\.0)
        try scene.route("default", on: alive[0])
        scene.kernel.entries[0].route.hops = alive
        let result = try scene.judge("any")
        #expect(result.interface?.name == interface)
        #expect(result.unsatisfiedReason == reason)
        #expect(result.isReachable == (reason == nil) && result.isConsistent)
        #expect(try scene.path().status == result.status)
        #expect(try scene.path().interfaces.first?.name == (reason == nil ? interface : nil))
        // A destination has the hop that the kernel chooses for it.
        #expect(try scene.judge("9.9.9.9").interface?.index == alive[0])
    }

    enum Hop {
        case up, noCarrier, noAddress, dormant, dead
    }

    @Test("a local route for everything is no default route")
    func localDefault() throws {
        let scene = try Scene()
        try scene.route("default", on: 1, type: RTN_LOCAL)
        #expect(try scene.judge("any").unsatisfiedReason == .noRoute)
    }

    @Test("a family that is missing does not hide why the other is out of reach")
    func informedReason() throws {
        let (scene, ethernet) = try Scene.office()
        scene.kernel.entries.removeAll { $0.length == 0 && $0.prefix.family == .ipv4 }
        try scene.change(ethernet) { $0.operationalState = UInt8(IF_OPER_LOWERLAYERDOWN) }
        let result = try scene.judge("any")
        #expect(result.unsatisfiedReason == .noCarrier)
        #expect(result.interface?.index == ethernet)
    }

    @Test("a family that can be used goes before one that needs a connection")
    func connectionAndOther() throws {
        let (scene, ethernet) = try Scene.office()
        scene.kernel.entries.removeAll { $0.length == 0 && $0.prefix.family == .ipv4 }
        try scene.route("default", on: scene.link("wwan0", state: IF_OPER_DORMANT))
        let result = try scene.judge("any")
        #expect(result.status == .satisfied)
        #expect(result.interface?.index == ethernet)
        #expect(result.supportsIPv4 && result.supportsIPv6)
        let path = try scene.path()
        #expect(path.interfaces.map(\.name) == ["eth0", "wwan0"])
    }

    @Test("the best of a host's addresses counts, among equals the resolver's first")
    func ranking() throws {
        let (scene, _) = try Scene.office()
        let modem = scene.link("wwan0", state: IF_OPER_DORMANT)
        try scene.route("203.0.113.0/24", on: modem)
        try scene.route("198.18.0.0/15", refusal: EHOSTUNREACH)
        try scene.route("198.51.100.0/24", refusal: ENETUNREACH)
        func addresses(_ texts: [String]) throws -> [IPAddress] { try texts.map { try #require(IPAddress($0)) } }
        for (texts, status, reason, interface, hop) in [
            (["198.51.100.1", "203.0.113.1", "2600::5", "9.9.9.9"], .satisfied, nil, "eth0", "fe80::1"),
            (["9.9.9.9", "2600::5"], .satisfied, nil, "eth0", "192.0.2.1"),
            (["198.18.0.1", "203.0.113.1"], .requiresConnection, .connectionRequired, "wwan0", nil),
            (["198.51.100.1", "198.18.0.1"], .unsatisfied, .unreachable, nil, nil),
            (["198.18.0.1", "198.51.100.1"], .unsatisfied, .unreachable, nil, nil),
        ] as [([String], NetworkPath.Status, UnsatisfiedReason?, String?, String?)] {
            var round = try scene.round()
            let result = round.reachability(ofHost: try addresses(texts))
            #expect(result.status == status)
            #expect(result.unsatisfiedReason == reason)
            #expect(result.interface?.name == interface)
            #expect(result.nextHop?.description == hop)
            #expect(result.addresses == (try addresses(texts)))
            #expect(round.scope.destinations.isSuperset(of: try addresses(texts)))
        }
    }

    @Test("a host supports a family when any address of it can be reached")
    func hostFamilies() throws {
        let (scene, _) = try Scene.office()
        try scene.route("198.51.100.0/24", refusal: ENETUNREACH)
        let texts = ["2600::5", "198.51.100.1", "9.9.9.9"]
        let addresses = try texts.map { try #require(IPAddress($0)) }
        var round = try scene.round()
        #expect(round.reachability(ofHost: addresses).supportsIPv4)
        #expect(!round.reachability(ofHost: Array(addresses.prefix(2))).supportsIPv4)
        #expect(round.reachability(ofHost: addresses).supportsIPv6)
    }

    @Test("a host without addresses has the reason that the caller knows")
    func noAddresses() throws {
        var round = try Scene.office().scene.round()
        #expect(round.reachability(ofHost: []).unsatisfiedReason == .nameNotFound)
        #expect(round.reachability(ofHost: [], orElse: .nameServersSilent).unsatisfiedReason == .nameServersSilent)
        #expect(round.reachability(of: .host("example.org")).unsatisfiedReason == .resolving)
    }
}
