import Glibc
import RunLoop
import Synchronization
import Testing

@testable import Reachability

/// Addresses that other programs add and remove, on real interfaces.
@Suite("Address churn", .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
struct AddressChurnTests {
    /// Runs the body with `main0`, which has the default routes, beside `aside0`, which has an address.
    private func withChurn(_ body: @escaping @Sendable (Commands) throws -> Void) throws {
        try NetworkNamespace.run { commands in
            try KernelBench.makeLinks("main0", "aside0", commands: commands)
            try commands.ipBatch([
                "address add 192.0.2.2/24 dev main0", "address add 2001:db8::2/64 dev main0 nodad",
                "address add 10.0.0.1/24 dev aside0", "route add default via 192.0.2.1",
                "route add default via 2001:db8::1",
            ])
            try body(commands)
        }
    }

    /// Adds and removes addresses of these kinds, and runs the loop after each change.
    private func churn(_ bench: MonitorBench, _ commands: Commands, of kinds: [String], rounds: Range<Int>) throws {
        for number in rounds {
            for action in ["add", "delete"] {
                try commands.ipBatch(kinds.map { "address \(action) \($0.replacing("N", with: "\(number)"))" })
                bench.loop.runOnce(timeout: .zero)
            }
        }
    }

    @Test("on an interface that no result depends on wakes nobody, and news is told without a rest")
    func uninvolved() throws {
        try withChurn { commands in
            let bench = try MonitorBench(["198.51.100.1", "2600::1"]) { $0.lossHold = .zero }
            let kinds = ["10.9.0.N/32 dev aside0", "2001:db8:9::N/64 dev aside0"]
            // The first change shows that the addresses of this interface change.
            try churn(bench, commands, of: kinds, rounds: 1..<2)
            try bench.settle("the filter") { bench.monitor.status.messages > 0 }
            let before = bench.monitor.status.messages
            try churn(bench, commands, of: kinds, rounds: 2..<52)
            #expect(bench.monitor.status.messages == before)
            try commands.ip("route", "del", "default")
            try bench.settle("the loss") { bench.last("198.51.100.1")?.status == .unsatisfied }
            #expect(bench.last("2600::1")?.status == .satisfied)
            #expect(bench.monitor.status.throttles == 0)
        }
    }

    @Test("that passes the filter uses up nothing of what news has")
    func passing() throws {
        try withChurn { commands in
            let bench = try MonitorBench(["198.51.100.1"]) { $0.lossHold = .zero }
            try churn(bench, commands, of: ["10.9.0.N/32 dev main0"], rounds: 1..<11)
            #expect(bench.monitor.status.messages == 20)
            try commands.ip("route", "del", "default")
            try bench.settle("the loss") { bench.last("198.51.100.1")?.status == .unsatisfied }
            #expect(bench.monitor.status.throttles == 0)
        }
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 31
        }
    }

    /// A random command of `ip`: mostly about addresses of `d0` and `d2`, over which seldom anything leads.
    private func command(_ numbers: inout Numbers) -> String {
        func pick(_ texts: String...) -> String { texts.randomElement(using: &numbers) ?? "" }
        let link = pick("d0", "d0", "d0", "d2", "d2", "d1")
        let far = pick("198.51.100.0/24", "default", "203.0.113.0/25")
        // Routes go sooner than they come, so that most of the time only `d1` is in use.
        let doing = pick("replace", "delete", "delete", "delete")
        switch Int.random(in: 0..<24, using: &numbers) {
        case 0...8:
            let address = "10.\(pick("0", "2")).0.\(pick("1", "2", "3"))/\(pick("32", "24"))"
            return "address \(pick("add", "delete")) \(address) dev \(link)"
        case 9...15:
            let address = "2001:db8:\(pick("0", "2"))::\(pick("1", "2"))/64"
            return "address \(pick("replace", "delete")) \(address) dev \(link)\(pick("", " preferred_lft 0"))"
        case 16: return "address \(pick("add", "delete")) \(pick("198.51.100.1/32", "2600::1/128")) dev \(link)"
        case 17: return "route \(doing) \(far) dev \(link) metric \(pick("1", "2"))"
        case 18: return "route \(doing) \(far) src 10.0.0.1 dev \(link) metric 3"
        case 19: return "route \(doing) 203.0.113.0/25 nexthop dev d0 nexthop dev d1 nexthop dev d2"
        case 20: return "route \(doing) \(pick("2600::/16", "::/0")) dev \(link) metric 9"
        case 21: return "link set \(link) \(pick("up", "up", "down"))"
        case 22: return "route \(doing) 2600::/16 src 2001:db8:0::1 dev \(link) metric 8"
        default: return "address \(pick("add", "delete", "delete")) 198.51.100.9/24 dev \(link)"
        }
    }

    @Test("leaves no result out of date, whatever changes")
    func random() throws {
        let counts = try (0..<8).map { try omissions(seed: $0) }
        #expect(counts.reduce(0, +) > 150, "of 640 states enough in which the filter leaves out something: \(counts)")
    }

    /// Makes random changes, and compares after each. Returns how often the filter leaves out addresses then.
    private func omissions(seed: UInt64) throws -> Int {
        let result = Mutex(0)
        try NetworkNamespace.run { commands in
            try KernelBench.makeLinks("d0", "d1", "d2", commands: commands)
            try commands.ipBatch([
                "address add 10.1.0.9/24 dev d1", "address add 2001:db8:1::9/64 dev d1",
                "address add 10.0.0.1/24 dev d0", "address add 10.2.0.1/24 dev d2", "route add default dev d1 metric 5",
                "route add ::/0 dev d1 metric 10",
            ])
            let bench = try KernelBench([
                "198.51.100.1", "203.0.113.1", "2600::1", "10.2.0.3", "10.1.0.9,198.51.100.1", "127.0.0.1", "any",
            ])
            var numbers = Numbers(state: seed)
            for _ in 0..<80 {
                let command = command(&numbers)
                // Many are refused: what is to be deleted isn't there.
                try? commands.ipBatch([command])
                try bench.expectUpToDate(after: command)
                if !bench.machine.attachedScope.uninvolved.isEmpty { result.withLock { $0 += 1 } }
            }
        }
        return result.withLock { $0 }
    }
}
