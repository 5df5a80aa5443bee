import CRingwakeNetlink
import RunLoop
import Testing

@testable import Reachability

/// What this kernel answers is what the judgement expects: the tables of the other tests are made after it.
@Suite(
    "Judging by the real kernel",
    .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct KernelAnswersTests {
    /// A machine in a namespace of its own, with `wlan0` and `wwan0` whose other ends are there too.
    private struct Machine {
        let commands: Commands
        let kernel: KernelQueries
        private let box = TablesBox()
        var tables: KernelTables { box.tables }

        init(_ commands: Commands) throws {
            self.commands = commands
            kernel = try KernelQueries()
            try ip("link set lo up")
            for name in ["wlan0", "wwan0"] {
                try ip("link add \(name) type veth peer name \(name)-peer")
                try ip("link set \(name) addrgenmode none")
                try ip("link set \(name)-peer addrgenmode none")
                try ip("link set \(name) up")
                try ip("link set \(name)-peer up")
            }
            // The kernel says so from a queue of its own. An IPv6 address that comes earlier is not local until then.
            for name in ["wlan0", "wwan0"] { try awaitState("UP", of: name) }
            try ip("addr add 192.0.2.10/24 brd + dev wlan0")
            try ip("addr add 198.51.100.10/24 dev wwan0")
            try ip("addr add 2001:db8::10/64 dev wlan0 nodad")
            try ip("addr add fe80::10/64 dev wlan0 nodad")
            try ip("route add default via 192.0.2.1 metric 600")
            try ip("route add default via 198.51.100.1 metric 700")
            try ip("route add default via fe80::1 dev wlan0 metric 600")
            // So does it for the route that makes an IPv6 address local, although there is no check for duplicates.
            try awaitText("2001:db8::10", in: "-6", "route", "show", "table", "local")
            try awaitText("fe80::10", in: "-6", "route", "show", "table", "local")
        }

        func ip(_ line: String) throws {
            try commands.ip(line.split(separator: " ").map(String.init))
        }

        /// Waits until the kernel says that the link has no carrier.
        func awaitLoss(of name: String) throws { try awaitState("LOWERLAYERDOWN", of: name) }

        /// Waits until the kernel says so of the link, which it does up to a second later.
        private func awaitState(_ state: String, of name: String) throws {
            try awaitText("state \(state)", in: "link", "show", "dev", name)
        }

        private func awaitText(_ text: String, in words: String...) throws {
            let end = BootClock.now().advanced(by: .seconds(30))
            while try !commands.ip(words).contains(text) {
                try #require(BootClock.now() < end, "'ip \(words.joined(separator: " "))' shows no '\(text)'")
            }
        }

        func judge(_ target: String) throws -> TargetReachability {
            try box.tables.resynchronize(kernel)
            var round = Evaluation(tables: tables, kernel: kernel)
            let result = round.reachability(of: try #require(ReachabilityTarget(target)))
            box.tables = round.tables
            #expect(round.lastError == nil)
            #expect(result.isConsistent)
            return result
        }

        func path() throws -> NetworkPath {
            try box.tables.resynchronize(kernel)
            var round = Evaluation(tables: tables, kernel: kernel)
            defer { box.tables = round.tables }
            return round.path()
        }
    }

    @Test("every kind of destination has its flags")
    func destinations() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            for (target, flags, source, hop) in [
                ("203.0.113.1", .reachable, "192.0.2.10", "192.0.2.1"),
                ("2600::5", .reachable, "2001:db8::10", "fe80::1"),
                ("192.0.2.77", [.reachable, .isDirect], "192.0.2.10", nil),
                ("2001:db8::77", [.reachable, .isDirect], "2001:db8::10", nil),
                ("fe80::77%wlan0", [.reachable, .isDirect], "fe80::10", nil),
                ("192.0.2.255", [.reachable, .isDirect], "192.0.2.10", nil),
                ("255.255.255.255", [.reachable, .isDirect], "192.0.2.10", nil),
                ("239.1.1.1", [.reachable, .isDirect], "192.0.2.10", nil),
                ("ff02::1%wlan0", [.reachable, .isDirect], "fe80::10", nil),
                ("192.0.2.10", [.reachable, .isLocalAddress, .isDirect], "192.0.2.10", nil),
                ("2001:db8::10", [.reachable, .isLocalAddress, .isDirect], "2001:db8::10", nil),
                ("127.0.0.1", [.reachable, .isLocalAddress], "127.0.0.1", nil),
                ("127.0.0.53", [.reachable, .isLocalAddress], "127.0.0.1", nil),
                ("::1", [.reachable, .isLocalAddress], "::1", nil),
                ("192.0.2.10,203.0.113.1", .reachable, "192.0.2.10", "192.0.2.1"),
                ("2001:db8::10,2600::5", .reachable, "2001:db8::10", "fe80::1"),
                ("127.0.0.9,127.0.0.1", [.reachable, .isLocalAddress], "127.0.0.9", nil),
                ("any", .reachable, "192.0.2.10", "192.0.2.1"),
            ] as [(String, ReachabilityFlags, String, String?)] {
                let result = try machine.judge(target)
                #expect(result.flags == flags, "\(target)")
                #expect(result.source?.description == source, "\(target)")
                #expect(result.nextHop?.description == hop, "\(target)")
            }
        }
    }

    @Test("every kind of refusal has its reason")
    func refusals() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            try machine.ip("rule add to 203.0.113.192/26 prohibit")
            for (kind, number) in [("unreachable", 1), ("prohibit", 2), ("blackhole", 3), ("throw", 4)] {
                try machine.ip("route add \(kind) 10.\(number).0.0/16")
                try machine.ip("route add \(kind) 2600:\(number)::/32")
            }
            for (number, reason) in [
                (1, UnsatisfiedReason.unreachable), (2, .prohibited), (3, .blackhole), (4, .noRoute),
            ] {
                #expect(try machine.judge("10.\(number).0.1").unsatisfiedReason == reason)
                #expect(try machine.judge("2600:\(number)::1").unsatisfiedReason == reason)
            }
            #expect(try machine.judge("203.0.113.200").unsatisfiedReason == .prohibited)
            #expect(try machine.judge("192.0.2.99,203.0.113.1").unsatisfiedReason == .sourceNotLocal)
            #expect(try machine.judge("2001:db8::99,2600::5").unsatisfiedReason == .sourceNotLocal)
            #expect(try machine.judge("127.0.0.1,203.0.113.1").unsatisfiedReason == .noSourceAddress)
            #expect(try machine.judge("fe80::77%eth9").unsatisfiedReason == .noInterface)
        }
    }

    @Test("with the loopback down, nothing is local")
    func loopbackDown() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            try machine.ip("link set lo down")
            for target in ["127.0.0.1", "::1", "192.0.2.10", "2001:db8::10"] {
                let result = try machine.judge(target)
                #expect(result.unsatisfiedReason == .interfaceDown, "\(target)")
                #expect(result.interface?.name == "lo", "\(target)")
            }
        }
    }

    @Test("a tentative address is none yet; a link-local one does not pass the gateway")
    func tentative() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            let setting = "/proc/sys/net/ipv6/conf/wlan0/dad_transmits"
            try commands.run("/bin/sh", ["-c", "echo 1000 > \(setting)"])
            try machine.ip("addr del 2001:db8::10/64 dev wlan0")
            #expect(try machine.judge("2600::5").unsatisfiedReason == .sourceLinkLocal)
            try machine.ip("addr add 2001:db8::11/64 dev wlan0")
            #expect(try machine.judge("2600::5").unsatisfiedReason == .sourceTentative)
            #expect(try machine.judge("2001:db8::11,2600::5").unsatisfiedReason == .sourceTentative)
            var round = Evaluation(tables: machine.tables, kernel: machine.kernel)
            #expect(round.path().supportsIPv6 == false)
            #expect(round.scope.hasTentativeAddresses)
        }
    }

    @Test("the path follows metrics, halves of the address space, and what is switched off")
    func path() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            var path = try machine.path()
            #expect(path.interfaces.map(\.name) == ["wlan0", "wwan0"])
            #expect(path.interfaces.map(\.type) == [.wifi, .cellular])
            #expect(path.supportsIPv4 && path.supportsIPv6 && !path.isExpensive)
            try machine.ip("route add default via 198.51.100.1 metric 50")
            path = try machine.path()
            #expect(path.interfaces.map(\.name) == ["wwan0", "wlan0"])
            #expect(path.isExpensive)
            try machine.ip("route del default via 198.51.100.1 metric 50")
            try machine.ip("link set wlan0 down")
            path = try machine.path()
            #expect(path.interfaces.map(\.name) == ["wwan0"])
            #expect(path.supportsIPv4 && !path.supportsIPv6)
            try machine.ip("route del default")
            #expect(try machine.path().unsatisfiedReason == .noRoute)
            try machine.ip("route add 0.0.0.0/1 dev wwan0")
            #expect(try machine.path().unsatisfiedReason == .noRoute)
            try machine.ip("route add 128.0.0.0/1 dev wwan0")
            #expect(try machine.path().status == .satisfied)
        }
    }

    @Test("a link-local address without a gateway leads to what is on the link, and to nothing else")
    func linkLocalDefault() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            for name in ["wlan0", "wwan0"] { try machine.ip("-4 addr flush dev \(name)") }
            try machine.ip("-6 addr del 2001:db8::10/64 dev wlan0")
            try machine.ip("-6 route del default")
            // As dhcpcd does when no server answers.
            try machine.ip("addr add 169.254.7.7/16 brd 169.254.255.255 dev wlan0 scope link")
            try machine.ip("route add default dev wlan0 scope link src 169.254.7.7 metric 1003")
            try machine.ip("-6 route add default dev wlan0 metric 1003")
            for target in ["any", "203.0.113.5", "2600::5"] {
                let result = try machine.judge(target)
                #expect(result.unsatisfiedReason == .sourceLinkLocal, "\(target)")
                #expect(result.interface?.name == "wlan0", "\(target)")
            }
            #expect(try machine.path().status == .unsatisfied)
            for target in [
                "169.254.9.9", "169.254.255.255", "255.255.255.255", "224.0.0.251", "fe80::9%wlan0", "ff02::fb%wlan0",
            ] {
                #expect(try machine.judge(target).flags == [.reachable, .isDirect], "\(target)")
            }
            try machine.ip("addr add 192.0.2.10/24 dev wlan0")
            try machine.ip("route replace default dev wlan0 scope link src 192.0.2.10 metric 1003")
            #expect(try machine.judge("any").flags == [.reachable, .isDirect])
        }
    }

    @Test(
        "of a default route's hops one that can be used is enough, whichever the kernel chooses",
        arguments: [
            (["192.0.2.1", "198.51.100.1"], "9.0.0.1"), (["2001:db8::1", "2001:db8:2::1"], "2600::1"),
        ])
    func hops(_ gateways: [String], _ probe: String) throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            try machine.ip("addr add 2001:db8:2::10/64 dev wwan0 nodad")
            try machine.ip("-4 route flush root 0.0.0.0/0 exact 0.0.0.0/0")
            try machine.ip("-6 route del default")
            let hops = "nexthop via \(gateways[0]) dev wlan0 nexthop via \(gateways[1]) dev wwan0"
            try machine.ip("route add default \(hops)")
            #expect(try Set(machine.path().interfaces.map(\.name)) == ["wlan0", "wwan0"])
            let chosen = try #require(try machine.judge(probe).interface?.name)
            let other = chosen == "wlan0" ? "wwan0" : "wlan0"

            try machine.ip("link set \(chosen)-peer down")
            try machine.awaitLoss(of: chosen)
            // The kernel goes on choosing it.
            #expect(try machine.judge(probe).unsatisfiedReason == .noCarrier)
            #expect(try machine.judge("any").interface?.name == other)
            #expect(try machine.path().interfaces.map(\.name) == [other])
            #expect(try machine.path().gateways == [IPAddress(gateways[other == "wlan0" ? 0 : 1])])
            try machine.ip("link set \(other)-peer down")
            try machine.awaitLoss(of: other)
            #expect(try machine.judge("any").unsatisfiedReason == .noCarrier)
        }
    }

    @Test("an address of the link's own scope is direct, though the link does not matter otherwise")
    func linkScope() throws {
        try NetworkNamespace.run { commands in
            let machine = try Machine(commands)
            try machine.ip("addr add 169.254.7.7/16 dev wwan0-peer scope link")
            #expect(try machine.judge("169.254.7.7").flags == [.reachable, .isLocalAddress, .isDirect])
        }
    }
}
