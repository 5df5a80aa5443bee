import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite(
    "Look-ups in the kernel",
    .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct KernelQueriesTests {
    /// A veth pair, v0 and v1, up, with an address of each family on v0.
    private static let pair = [
        "link set lo up", "link add v0 type veth peer name v1", "link set v1 up", "link set v0 up",
        "addr add 192.0.2.2/24 dev v0", "addr add 2001:db8::2/64 dev v0 nodad",
    ]

    private static func address(_ text: String) throws -> IPAddress {
        try #require(IPAddress(text))
    }

    private static func ask(
        _ queries: KernelQueries, _ destination: String, matchesTable: Bool = false
    ) throws -> RouteAnswer {
        try queries.route(RouteQuestion(destination: address(destination), matchesTable: matchesTable))
    }

    @Test("Without a route the answer is ENETUNREACH, in both families", arguments: [false, true])
    func noRoute(_ matchesTable: Bool) throws {
        try NetworkNamespace.run { commands in
            let queries = try KernelQueries()
            #expect(try Self.ask(queries, "203.0.113.1", matchesTable: matchesTable) == .refused(ENETUNREACH))
            #expect(try Self.ask(queries, "2001:db8:9::1", matchesTable: matchesTable) == .refused(ENETUNREACH))
            try commands.ipBatch(Self.pair)
            #expect(try Self.ask(queries, "203.0.113.1", matchesTable: matchesTable) == .refused(ENETUNREACH))
            #expect(try Self.ask(queries, "2001:db8:9::1", matchesTable: matchesTable) == .refused(ENETUNREACH))
        }
    }

    @Test(
        "Routes that refuse say how", arguments: [false, true],
        [
            ("unreachable", EHOSTUNREACH), ("prohibit", EACCES), ("blackhole", EINVAL), ("throw", ENETUNREACH),
        ])
    func refusals(_ matchesTable: Bool, _ kind: (name: String, code: Int32)) throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(
                Self.pair + [
                    "route add \(kind.name) 10.1.0.0/16", "route add \(kind.name) 2001:db8:1::/48",
                ])
            let queries = try KernelQueries()
            #expect(try Self.ask(queries, "10.1.0.1", matchesTable: matchesTable) == .refused(kind.code))
            #expect(try Self.ask(queries, "2001:db8:1::1", matchesTable: matchesTable) == .refused(kind.code))
        }
    }

    @Test(
        "Rules that refuse say how; for one that says unreachable there is no route", arguments: [false, true],
        [("prohibit", EACCES), ("blackhole", EINVAL), ("unreachable", ENETUNREACH)])
    func rule(_ matchesTable: Bool, _ kind: (name: String, code: Int32)) throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(
                Self.pair + ["route add default via 192.0.2.1", "route add default via 2001:db8::1 dev v0"])
            try commands.ip("-4", "rule", "add", "to", "10.1.0.0/16", kind.name)
            try commands.ip("-6", "rule", "add", "to", "2001:db8:1::/48", kind.name)
            let queries = try KernelQueries()
            #expect(try Self.ask(queries, "10.1.0.1", matchesTable: matchesTable) == .refused(kind.code))
            #expect(try Self.ask(queries, "2001:db8:1::1", matchesTable: matchesTable) == .refused(kind.code))
            guard case .route = try Self.ask(queries, "10.2.0.1", matchesTable: matchesTable) else {
                Issue.record("the rule is about another")
                return
            }
        }
    }

    @Test("Gateways, sources, interfaces and metrics are the kernel's")
    func routes() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(
                Self.pair + [
                    "route add default via 192.0.2.1 metric 100",
                    "route add default via 2001:db8::1 dev v0 metric 50",
                ])
            let queries = try KernelQueries()
            let v0 = try #require(try queries.index(ofLink: "v0"))
            let ipv4 = Route(
                type: UInt8(RTN_UNICAST), interface: v0, gateway: IPAddress("192.0.2.1"),
                source: IPAddress("192.0.2.2"))
            #expect(try Self.ask(queries, "203.0.113.1") == .route(ipv4))
            guard case .route(let entry) = try Self.ask(queries, "203.0.113.1", matchesTable: true) else {
                Issue.record("no entry")
                return
            }
            #expect(entry.metric == 100)
            #expect(entry.gateway == ipv4.gateway)
            let ipv6 = Route(
                type: UInt8(RTN_UNICAST), interface: v0, gateway: IPAddress("2001:db8::1"),
                source: IPAddress("2001:db8::2"), metric: 50)
            #expect(try Self.ask(queries, "2001:db8:9::1") == .route(ipv6))
            let local = try Self.ask(queries, "192.0.2.2")
            guard case .route(let route) = local else {
                Issue.record("\(local)")
                return
            }
            #expect(route.type == UInt8(RTN_LOCAL))
        }
    }

    @Test("An interface and a source narrow the look-up")
    func narrowed() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(Self.pair + ["route add default via 192.0.2.1"])
            let queries = try KernelQueries()
            let v1 = try #require(try queries.index(ofLink: "v1"))
            let destination = try Self.address("203.0.113.1")
            var question = RouteQuestion(destination: destination, interface: v1)
            // The kernel invents a direct route on the interface; the table has none.
            guard case .route(let invented) = try queries.route(question) else {
                Issue.record("no invented route")
                return
            }
            #expect(invented.interface == v1 && invented.gateway == nil)
            question.matchesTable = true
            guard case .refused = try queries.route(question) else {
                Issue.record("an entry in the table")
                return
            }
            question = RouteQuestion(destination: destination, source: try Self.address("192.0.2.2"))
            guard case .route(let route) = try queries.route(question) else {
                Issue.record("no route")
                return
            }
            #expect(route.gateway == IPAddress("192.0.2.1"))
            // An address that is not of this machine: EINVAL of older kernels, ENETUNREACH of newer ones.
            question.source = try Self.address("192.0.2.99")
            guard case .refused = try queries.route(question) else {
                Issue.record("a route from another's address")
                return
            }
            let linkLocal = try Self.address("fe80::1")
            guard case .route(let zoned) = try queries.route(RouteQuestion(destination: linkLocal, interface: v1))
            else {
                Issue.record("no link-local route")
                return
            }
            #expect(zoned.interface == v1)
            for destination in [linkLocal, destination] {
                question = RouteQuestion(destination: destination, interface: 9_999)
                #expect(try queries.route(question) == .refused(ENETUNREACH))
            }
            #expect(throws: KernelLookupError.self) {
                try queries.route(RouteQuestion(destination: destination, source: linkLocal))
            }
        }
    }

    @Test("A family that is switched off has no routes")
    func disabledIPv6() throws {
        try NetworkNamespace.run { commands in
            try commands.run("/sbin/sysctl", ["-qw", "net.ipv6.conf.all.disable_ipv6=1"])
            try commands.ipBatch(Array(Self.pair.dropLast()))
            #expect(try Self.ask(KernelQueries(), "2001:db8::1") == .refused(ENETUNREACH))
        }
    }

    @Test("Links are found by number and by name, and not when they are not there")
    func links() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(Self.pair)
            let queries = try KernelQueries()
            let links = try queries.links()
            #expect(Set(links.map(\.name)) == ["lo", "v0", "v1"])
            for link in links {
                // Not the whole: the carrier of a new pair comes up a moment later.
                #expect(try queries.link(link.index)?.name == link.name)
                #expect(try queries.index(ofLink: link.name) == link.index)
            }
            #expect(try queries.link(9_999) == nil)
            #expect(try queries.link(0) == nil)
            #expect(try queries.link(.max) == nil)
            for name in ["v2", "", "v\0", "a-name-of-16-byt", "v0/../v0"] {
                #expect(try queries.index(ofLink: name) == nil)
            }
        }
    }

    @Test("Addresses are those of the interface, or all")
    func addresses() throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch(Self.pair + ["addr add 198.51.100.1/24 dev v1"])
            let queries = try KernelQueries()
            let v0 = try #require(try queries.index(ofLink: "v0"))
            let found = try queries.addresses(of: v0).filter { !$0.address.isLinkLocal }
            #expect(found.map(\.address) == [IPAddress("192.0.2.2"), IPAddress("2001:db8::2")])
            #expect(found.map(\.prefixLength) == [24, 64])
            #expect(Set(try queries.addresses(of: 0).map(\.interface)).count == 3)
            #expect(try queries.addresses(of: 9_999).isEmpty)
        }
    }
}
