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
            try makeLinks("main0", "aside0", commands: commands)
            try commands.ipBatch([
                "address add 192.0.2.2/24 dev main0", "address add 2001:db8::2/64 dev main0 nodad",
                "address add 10.0.0.1/24 dev aside0", "route add default via 192.0.2.1",
                "route add default via 2001:db8::1",
            ])
            try body(commands)
        }
    }

    /// Makes links that are up, without addresses.
    private func makeLinks(_ names: String..., commands: Commands) throws {
        let defaults = "cd /proc/sys/net/ipv6/conf/default && echo 0 > accept_dad && echo 1 > addr_gen_mode"
        try commands.run("/bin/sh", ["-c", defaults])
        try commands.ipBatch(
            ["link set lo up"]
                + names.flatMap {
                    [
                        "link add \($0) type veth peer name far-\($0)", "link set far-\($0) up", "link set \($0) up",
                    ]
                })
        // The kernel reports the carrier of a new link a little later.
        for name in names {
            while try !commands.ip("link", "show", name).contains("state UP") { usleep(10_000) }
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

    /// A machine over the kernel: attaches its filter, and reads events, as the monitor does, but without pauses.
    private final class KernelBench {
        private static let configuration = {
            var configuration = ReachabilityConfiguration()
            configuration.lossHold = .zero
            return configuration
        }()

        let targets: [ReachabilityTarget]
        private let kernel: KernelQueries
        private let socket: EventSocket
        private(set) var machine = PathStateMachine(configuration: configuration, nameServers: [])
        private(set) var messages = 0
        /// How often a filter left out the addresses of an interface.
        private(set) var omissions = 0

        init(_ texts: [String]) throws {
            targets = try texts.map { try #require(ReachabilityTarget($0)) }
            kernel = try KernelQueries()
            socket = try EventSocket()
            _ = try FilterAttachment.attach(FilterScope(), wanted: 4, to: socket.descriptor)
            try socket.join()
            handle(.resumed)
            for target in targets { handle(.watch(target)) }
            handle(.flush)
        }

        private func handle(_ event: PathStateMachine.Event) {
            for effect in machine.handle(event, at: BootClock.now(), asking: kernel) {
                guard case .attachFilter(let scope) = effect else { continue }
                if !scope.uninvolved.isEmpty { omissions += 1 }
                let filter = try? FilterAttachment.attach(scope, wanted: 4, to: socket.descriptor)
                #expect(filter?.level == 4)
                handle(.filterAttached)
            }
        }

        /// Handles what the kernel has queued.
        private func receive() {
            let batch = socket.receive(maximumDatagrams: 4_096)
            messages += batch.messages
            if !batch.events.isEmpty || batch.isOverrun {
                handle(.kernel(batch.events, isOverrun: batch.isOverrun))
            }
        }

        /// Compares with the results of another machine, which reads everything now.
        func expectUpToDate(after what: String) throws {
            // The kernel reports a carrier a little later than it shows it.
            for _ in 0..<100 {
                receive()
                guard try !isSame(as: KernelBench(targets.map(\.description))) else { return }
                usleep(20_000)
            }
            let other = try KernelBench(targets.map(\.description))
            #expect(machine.currentPath == other.machine.currentPath, "the path after \(what)")
            for target in targets {
                #expect(machine.current(target) == other.machine.current(target), "\(target) after \(what)")
            }
        }

        private func isSame(as other: KernelBench) -> Bool {
            machine.currentPath == other.machine.currentPath
                && targets.allSatisfy { machine.current($0) == other.machine.current($0) }
        }
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 31
        }
    }

    /// A random command of `ip`: mostly about addresses.
    private func command(_ numbers: inout Numbers) -> String {
        func pick(_ texts: String...) -> String { texts.randomElement(using: &numbers) ?? "" }
        let link = pick("d0", "d1", "d2")
        let far = pick("198.51.100.0/24", "default", "203.0.113.0/25")
        switch Int.random(in: 0..<16, using: &numbers) {
        case 0...4:
            let address = "10.\(pick("0", "1", "2")).0.\(pick("1", "2", "3"))/\(pick("32", "24"))"
            return "address \(pick("add", "delete")) \(address) dev \(link)"
        case 5...8:
            let address = "2001:db8:\(pick("0", "1"))::\(pick("1", "2"))/64"
            return "address \(pick("replace", "delete")) \(address) dev \(link)\(pick("", " preferred_lft 0"))"
        case 9: return "address \(pick("add", "delete")) \(pick("198.51.100.1/32", "2600::1/128")) dev \(link)"
        case 10: return "route \(pick("replace", "delete")) \(far) dev \(link) metric \(pick("1", "2"))"
        case 11: return "route \(pick("replace", "delete")) \(far) src 10.0.0.1 dev \(link) metric 3"
        case 12:
            let lead = far == "default" ? "203.0.113.0/25" : far
            return "route \(pick("replace", "delete")) \(lead) nexthop dev d0 nexthop dev d1 nexthop dev d2"
        case 13: return "route \(pick("replace", "delete")) \(pick("2600::/16", "::/0")) dev \(link) metric 9"
        case 14: return "link set \(link) \(pick("up", "up", "down"))"
        default: return "route replace 2600::/16 src 2001:db8:0::1 dev \(link) metric 8"
        }
    }

    /// Commands, of which the last one changes an address on `d0`: over it leads no answer, but the result depends on it.
    private static let dependent: [[String]] = [
        // The outgoing interface has no address, so the kernel takes one of another.
        [
            "address add 10.0.0.1/24 dev d0", "route add 198.51.100.0/24 dev d1", "address add 10.9.0.1/32 dev d0",
            "address delete 10.9.0.1/32 dev d0", "address delete 10.0.0.1/24 dev d0",
        ],
        // Another interface's address is preferred to a deprecated one.
        [
            "address add 2001:db8::1/64 dev d0", "address add 2001:db8:1::1/64 dev d1 preferred_lft 0",
            "route add 2600::/16 dev d1", "address add 2001:db8::2/64 dev d0",
            "address delete 2001:db8::2/64 dev d0", "address delete 2001:db8::1/64 dev d0",
        ],
        // The source that the route names goes, and the route with it.
        [
            "address add 10.0.0.1/24 dev d0", "address add 10.1.0.1/24 dev d1",
            "route add 198.51.100.0/24 dev d1 src 10.0.0.1", "address add 10.9.0.1/32 dev d0",
            "address delete 10.9.0.1/32 dev d0", "address delete 10.0.0.1/24 dev d0",
        ],
    ]

    @Test("is noticed where a result depends on the address of an interface beside its way", arguments: 0..<3)
    func dependent(_ number: Int) throws {
        try NetworkNamespace.run { commands in
            try makeLinks("d0", "d1", commands: commands)
            let bench = try KernelBench(["198.51.100.1", "2600::1"])
            for command in Self.dependent[number] {
                try commands.ipBatch([command])
                try bench.expectUpToDate(after: command)
            }
        }
    }

    @Test("leaves no result out of date, whatever changes")
    func random() throws {
        let counts = try (0..<8).map { try omissions(seed: $0) }
        #expect(counts.reduce(0, +) > 0)
    }

    /// Makes random changes, and compares after each. Returns how often a filter left out addresses.
    private func omissions(seed: UInt64) throws -> Int {
        let result = Mutex(0)
        try NetworkNamespace.run { commands in
            try makeLinks("d0", "d1", "d2", commands: commands)
            try commands.ipBatch(["address add 10.0.0.1/24 dev d0", "route add default dev d0 metric 5"])
            let bench = try KernelBench([
                "198.51.100.1", "203.0.113.1", "2600::1", "10.2.0.3", "10.2.0.3,198.51.100.1", "127.0.0.1", "any",
            ])
            var numbers = Numbers(state: seed)
            for _ in 0..<80 {
                let command = command(&numbers)
                // Many are refused: what is to be deleted isn't there.
                try? commands.ipBatch([command])
                try bench.expectUpToDate(after: command)
            }
            result.withLock { $0 = bench.omissions }
        }
        return result.withLock { $0 }
    }
}
