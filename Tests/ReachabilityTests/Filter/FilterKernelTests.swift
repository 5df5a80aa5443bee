import CRingwakeNetlink
import Glibc
import Testing

@testable import Reachability

@Suite(
    "The filter on a real event socket",
    .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct FilterKernelTests {
    /// Runs the body with a probe for each level beside an interface `main0` that matters, and one target behind it.
    private func withProbes(_ body: @escaping @Sendable (Commands, [EventProbe]) throws -> Void) throws {
        try NetworkNamespace.run { commands in
            try commands.ipBatch([
                "link set lo up", "link add main0 type veth peer name main1", "link set main1 up",
                "address add 192.0.2.2/24 dev main0", "link set main0 up", "route add default via 192.0.2.1",
            ])
            let scope = FilterScope(
                destinations: Set(["198.51.100.1", "2001:db8::1"].compactMap { IPAddress($0) }),
                interfaces: [1, if_nametoindex("main0")])
            let probes = try EventProbe.all(scope)
            try body(commands, probes)
        }
    }

    @Test("other destinations' routes come below level 3, and not from it on")
    func routes() throws {
        try withProbes { commands, probes in
            let add = (0..<100).map { "route add 10.0.\($0).0/24 via 192.0.2.1" }
            try commands.ipBatch(add + add.map { $0.replacing("add", with: "delete") })
            let counts = try probes.counts(RTM_NEWROUTE, RTM_DELROUTE)
            // The link-local routes of main0 may come in between.
            #expect(counts[...2].allSatisfy { $0 >= 200 })
            #expect(counts[3...] == [0, 0])
        }
    }

    @Test("containers that come and go are heard of below level 4, and not at it")
    func containers() throws {
        try withProbes { commands, probes in
            try commands.ipBatch(
                (0..<20).flatMap {
                    [
                        "link add c\($0) type veth peer name p\($0)", "link set c\($0) up", "link set p\($0) up",
                        "link delete c\($0)",
                    ]
                })
            let main = if_nametoindex("main0")
            let counts = try probes.counts { $0.index != main }
            #expect(counts[...3].allSatisfy { $0 >= 80 })
            #expect(counts[4] == 0)
        }
    }

    @Test("changes of a bridge's ports come at level 1, and not above it")
    func ports() throws {
        try withProbes { commands, probes in
            try commands.ipBatch([
                "link add bridge0 type bridge", "link add c0 type veth peer name p0", "link set c0 master bridge0",
            ])
            let port = if_nametoindex("c0")
            try probes.clear()
            try commands.ipBatch((1...10).map { "link set c0 txqueuelen \($0)" })
            let counts = try probes.counts { $0.type == RTM_NEWLINK && $0.index == port }
            #expect(counts == [10, 10, 0, 0, 0])
        }
    }

    @Test("a refreshed address comes at level 1, and not above it; waits 5 s until the kernel calls it one")
    func refresh() throws {
        try withProbes { commands, probes in
            let addresses = ["192.0.2.9/24 dev main0", "2001:db8:9::1/64 dev main0"]
            try commands.ipBatch(addresses.map { "address add \($0) valid_lft 600 preferred_lft 600" })
            // Also the link-local ones, and the ends of the checks for duplicates, which take 1 to 2 s.
            #expect(try probes.counts(RTM_NEWADDR).allSatisfy { $0 >= 2 })
            try commands.run("/bin/sleep", ["5.2"])
            try probes.clear()
            try commands.ipBatch(addresses.map { "address change \($0) valid_lft 900 preferred_lft 900" })
            #expect(try probes.counts(RTM_NEWADDR) == [2, 2, 0, 0, 0])
        }
    }

    @Test(
        "a change that matters comes at each level",
        arguments: [
            ("route delete default", RTM_DELROUTE),
            ("route add default via 192.0.2.3 metric 9", RTM_NEWROUTE),
            ("route add 198.51.100.0/25 via 192.0.2.1", RTM_NEWROUTE),
            ("route add 128.0.0.0/1 dev main0", RTM_NEWROUTE),
            ("route add unreachable 198.51.100.1", RTM_NEWROUTE),
            ("route add ::/0 dev main0", RTM_NEWROUTE),
            ("route add 2001:db8::/48 dev main0", RTM_NEWROUTE),
            ("route add 2001:db8::1 dev main0", RTM_NEWROUTE),
            ("link set main0 down", RTM_NEWLINK),
            ("link delete main0", RTM_DELLINK),
            ("address delete 192.0.2.2/24 dev main0", RTM_DELADDR),
            ("address add 203.0.113.1/24 dev main1", RTM_NEWADDR),
            ("rule add from 203.0.113.0/24 table 9", RTM_NEWRULE),
            ("nexthop add id 7 via 192.0.2.1 dev main0", RTM_NEWNEXTHOP),
            ("tuntap add mode tun dev tunnel0", RTM_NEWLINK),
        ] as [(String, Int)])
    func matters(_ command: String, _ type: Int) throws {
        try withProbes { commands, probes in
            try probes.clear()
            try commands.ipBatch([command])
            for (level, count) in try probes.counts(type).enumerated() { #expect(count >= 1, "level \(level)") }
        }
    }
}
