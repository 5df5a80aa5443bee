import Glibc
import Testing

@testable import Reachability

/// Which interfaces' addresses the filter leaves out: one case for each condition of ``Involvement``, on the kernel.
@Suite("Involvement", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct InvolvementTests {
    /// The addresses of `d0` change. Commands are those of `ip`, or `FILE=VALUE` below /proc/sys/net/ipv6/conf.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var targets = ["198.51.100.1", "2600::1"]
        let setup: [String]
        /// Whether messages about addresses of `d0` are dropped after the set-up.
        let isLeftOut: Bool
        /// Whether this is no longer so after the first of the changes.
        var isInvolvedThen = false
        /// After each, the results are compared with those of a fresh reading.
        let changes: [String]
    }

    /// `d0` has addresses, and `d1` leads to the targets.
    private static let beside = ipv4 + ipv6
    private static let ipv4 = [
        "address add 10.0.0.1/24 dev d0", "address add 10.1.0.1/24 dev d1", "route add 198.51.100.0/24 dev d1",
    ]
    private static let ipv6 = [
        "address add 2001:db8::1/64 dev d0", "address add 2001:db8:1::1/64 dev d1", "route add 2600::/16 dev d1",
    ]

    private static let cases = [
        Case(
            testDescription: "an interface beside the way", setup: beside, isLeftOut: true,
            changes: [
                "address add 10.9.0.1/32 dev d0", "address add 2001:db8:9::1/64 dev d0",
                "address change 2001:db8:9::1/64 dev d0 preferred_lft 0", "address flush dev d0",
                "address add 10.0.0.1/24 dev d0", "address add 2001:db8::1/64 dev d0",
            ]),
        Case(
            testDescription: "a destination that becomes on-link", setup: beside, isLeftOut: true, isInvolvedThen: true,
            changes: [
                "address add 198.51.100.9/25 dev d0", "address add 2600::9/64 dev d0",
                "address delete 198.51.100.9/25 dev d0", "address delete 2600::9/64 dev d0",
            ]),
        Case(
            testDescription: "an interface that gets another default route",
            setup: beside + ["route add default dev d1 metric 1"], isLeftOut: true, isInvolvedThen: true,
            changes: ["route add default dev d0 metric 9", "address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "a destination that becomes local", setup: beside, isLeftOut: true, isInvolvedThen: true,
            changes: [
                "address add 198.51.100.1/32 dev d0", "address add 2600::1/128 dev d0",
                "address delete 198.51.100.1/32 dev d0", "address delete 2600::1/128 dev d0",
            ]),
        Case(
            testDescription: "a source that is no longer preferred, and then the interface is in use",
            setup: beside + ["route add default dev d1 metric 1"], isLeftOut: true, isInvolvedThen: true,
            changes: ["address change 2001:db8:1::1/64 dev d1 preferred_lft 0", "route add default dev d0 metric 9"]),
        Case(
            testDescription: "a home address, which kernels without Mobile IPv6 treat as any other", setup: beside,
            isLeftOut: true,
            changes: ["address add 2001:db8:9::9/64 dev d0 home", "address delete 2001:db8:9::9/64 dev d0"]),
        Case(
            testDescription: "destinations on the link, for which the kernel looks at the outgoing interface only",
            targets: ["fe80::5%d1", "ff02::1%d1"], setup: beside + ["address add fe80::1/64 dev d1"], isLeftOut: true,
            changes: ["address add 2001:db8:9::1/64 dev d0", "address add fe80::2/64 dev d0"]),
        Case(
            testDescription: "the outgoing interface", targets: ["10.1.0.1,198.51.100.1"],
            setup: [
                "address add 10.0.0.1/24 dev d0", "address add 2001:db8::1/64 dev d0", "address add 10.1.0.1/24 dev d1",
                "route add 198.51.100.0/24 dev d0",
            ], isLeftOut: false,
            // With the last address goes the route, without a message.
            changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "the interface of another default route",
            setup: beside + ["route add default dev d1 metric 1", "route add default dev d0 metric 9"],
            isLeftOut: false, changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "the owner of a local destination", targets: ["10.0.0.1", "2001:db8::1"], setup: beside,
            isLeftOut: false, changes: ["address delete 10.0.0.1/24 dev d0", "address delete 2001:db8::1/64 dev d0"]),
        Case(
            testDescription: "the owner of a given source", targets: ["10.0.0.1,198.51.100.1"], setup: beside,
            isLeftOut: false, changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "a given source that nobody owns", targets: ["2001:db8:9::9,2600::1"], setup: beside,
            isLeftOut: false,
            // Its local route comes with the end of the duplicate check; before that the address alone shows.
            changes: ["d0/accept_dad=1", "d0/dad_transmits=1000", "address add 2001:db8:9::9/64 dev d0"]),
        Case(
            testDescription: "an IPv4 source of another interface",
            setup: [
                "address add 10.0.0.1/24 dev d0", "address add 10.8.0.1/24 dev d0",
                "address add 2001:db8:1::1/64 dev d1", "route add 198.51.100.0/24 dev d1",
            ], isLeftOut: false,
            changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "a source that the route names",
            setup: beside + ["route replace 198.51.100.0/24 dev d1 src 10.0.0.1"], isLeftOut: false,
            changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "an IPv4 source that the outgoing interface has too, but not for other machines",
            setup: [
                "address add 10.9.0.1/32 dev d1 scope link", "address add 10.9.0.1/32 dev d0",
                "address add 10.0.0.1/24 dev d0", "route add 198.51.100.0/24 via 192.0.2.7 dev d1 onlink",
            ], isLeftOut: false, changes: ["address delete 10.9.0.1/32 dev d0"]),
        Case(
            testDescription: "an IPv6 source that is not preferred",
            setup: ipv4 + ["address add 2001:db8:1::1/64 dev d1 preferred_lft 0", "route add 2600::/16 dev d1"],
            isLeftOut: false, changes: ["address add 2001:db8::1/64 dev d0"]),
        Case(
            testDescription: "an IPv6 source of a narrower scope",
            setup: ipv4 + ["address add fec0::1/64 dev d1", "route add 2600::/16 dev d1"],
            isLeftOut: false, changes: ["address add 2001:db8::1/64 dev d0"]),
        Case(
            testDescription: "an IPv6 destination of a narrower scope", targets: ["fec0:1::1"],
            setup: beside + ["route add fec0:1::/32 dev d1"], isLeftOut: false,
            changes: ["address add fec0:2::1/64 dev d0"]),
        Case(
            testDescription: "the owner of an IPv4 source of packets that stay on the machine",
            targets: ["203.0.113.1"],
            setup: beside + ["route add local 203.0.113.0/24 dev lo src 10.0.0.1"], isLeftOut: false,
            changes: ["address delete 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "an IPv6 source of packets that stay on the machine", targets: ["2001:db8:5::1"],
            setup: ipv4 + ["address add 2001:db8:4::1/64 dev d1", "route add local 2001:db8:5::/48 dev lo"],
            isLeftOut: false, changes: ["address add 2001:db8:5:1::1/64 dev d0"]),
        Case(
            testDescription: "a dead hop of an IPv4 route", targets: (1...16).map { "198.51.100.\($0)" },
            setup: [
                "address add 10.0.0.1/24 dev d0", "address add 2001:db8::1/64 dev d0", "address add 10.1.0.1/24 dev d1",
                "route add 198.51.100.0/24 nexthop dev d0 nexthop dev d1", "address delete 10.0.0.1/24 dev d0",
            ], isLeftOut: false, changes: ["address add 10.0.0.1/24 dev d0"]),
        Case(
            testDescription: "more IPv4 routes in use than are looked at",
            targets: (1...129).map { "198.51.100.\($0)" },
            setup: beside, isLeftOut: false, changes: []),
        Case(
            testDescription: "an IPv4 route that refuses packets, which may have a source",
            setup: beside + ["route replace blackhole 198.51.100.0/24 src 10.0.0.1"], isLeftOut: false,
            changes: ["address delete 10.0.0.1/24 dev d0"]),
    ]

    @Test("decides what the filter leaves out, and no result is out of date", arguments: cases)
    func condition(_ item: Case) throws {
        try NetworkNamespace.run { commands in
            try KernelBench.makeLinks("d0", "d1", commands: commands)
            try commands.ipBatch(item.setup)
            try KernelBench.settleAddresses(commands)
            let bench = try KernelBench(item.targets)
            // Only interfaces whose addresses change are left out.
            for action in ["add", "delete"] {
                try commands.ipBatch(["address \(action) 2001:db8:7777::1/64 dev d0"])
                try bench.expectUpToDate(after: "the first changes")
            }
            bench.expectLeftOut(item.isLeftOut ? "d0" : nil)
            for (number, change) in item.changes.enumerated() {
                try apply(change, commands)
                try bench.expectUpToDate(after: change)
                if item.isInvolvedThen, number == 0 { bench.expectLeftOut(nil) }
            }
        }
    }

    @Test("A new target that depends on an interface is judged by its addresses of now")
    func newTarget() throws {
        try NetworkNamespace.run { commands in
            let bench = try leavingOut("d0", Self.beside, commands)
            for change in ["d0/accept_dad=1", "d0/dad_transmits=1000"] { try apply(change, commands) }
            try commands.ipBatch(["address add 2001:db8:9::9/64 dev d0"])
            try bench.expectUpToDate(after: "a change that is dropped")
            try bench.watch("2001:db8:9::9,2600::1")
            try bench.expectUpToDate(after: "the new target")
            bench.expectLeftOut(nil)
        }
    }

    @Test("A new target leaves no interface out that others depend on")
    func otherTargets() throws {
        try NetworkNamespace.run { commands in
            let bench = try leavingOut("d0", Self.beside, commands)
            for action in ["add", "delete"] { try commands.ipBatch(["address \(action) 10.9.0.1/32 dev d1"]) }
            try bench.expectUpToDate(after: "changes of the outgoing interface")
            try bench.watch("127.0.0.1")
            bench.expectLeftOut("d0")
            // With the last address goes the route, without a message.
            try commands.ipBatch(["address delete 10.1.0.1/24 dev d1"])
            try bench.expectUpToDate(after: "the last address")
        }
    }

    /// A bench of which the filter leaves this interface out.
    private func leavingOut(_ name: String, _ setup: [String], _ commands: Commands) throws -> KernelBench {
        try KernelBench.makeLinks("d0", "d1", commands: commands)
        try commands.ipBatch(setup)
        try KernelBench.settleAddresses(commands)
        let bench = try KernelBench(["198.51.100.1", "2600::1"])
        for action in ["add", "delete"] { try commands.ipBatch(["address \(action) 10.9.0.1/32 dev \(name)"]) }
        try bench.expectUpToDate(after: "the first changes")
        bench.expectLeftOut(name)
        return bench
    }

    private func apply(_ change: String, _ commands: Commands) throws {
        let parts = change.split(separator: "=")
        guard parts.count == 2 else { return try commands.ipBatch([change]) }
        try commands.run("/bin/sh", ["-c", "echo \(parts[1]) > /proc/sys/net/ipv6/conf/\(parts[0])"])
    }
}
