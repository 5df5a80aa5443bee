import Glibc
import RunLoop
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
            // Of the first change some of its four messages may come late; two hundred changes were made since.
            #expect(bench.monitor.status.messages <= before + 4)
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
            // A link's own message may come late, so there may be more.
            #expect(bench.monitor.status.messages >= 20)
            try commands.ip("route", "del", "default")
            try bench.settle("the loss") { bench.last("198.51.100.1")?.status == .unsatisfied }
            #expect(bench.monitor.status.throttles == 0)
        }
    }
}
