import Reachability
import Testing

@Suite("Reachability monitor", .timeLimit(.minutes(10)))
struct ReachabilityMonitorTests {
    private static let local = ReachabilityTarget.address(IPAddress(ipv4Loopback: 1))

    @Test("text that is no target makes no monitor")
    func text() throws {
        #expect(try ReachabilityMonitor("no host name") == nil)
        #expect(try ReachabilityMonitor("127.0.0.1")?.target == Self.local)
    }

    @Test("an address of this machine is judged once, and the monitor says so afterwards")
    func evaluate() async throws {
        let context = try ReachabilityContext()
        let reachability = try await ReachabilityMonitor.evaluate(Self.local, context: context)
        #expect(reachability.flags.contains([.reachable, .isLocalAddress]))
        let monitor = try ReachabilityMonitor(Self.local, context: context)
        for await update in monitor.updates {
            #expect(update == reachability)
            #expect(monitor.current == reachability)
            monitor.cancel()
        }
    }

    @Test("judging ends with the task that asked")
    func cancelled() async throws {
        // Nobody drives this one, so nothing is ever told.
        let context = try DrivenReachabilityContext()
        let monitor = try ReachabilityMonitor(Self.local, context: context)
        let reader = Task { for await _ in monitor.updates { Issue.record("told without being driven") } }
        reader.cancel()
        await reader.value
        #expect(monitor.current == nil)
        let asking = Task {
            // A busy machine may know the answer before this task is cancelled.
            while !Task.isCancelled { await Task.yield() }
            return try await ReachabilityMonitor.evaluate(.host("host.invalid"))
        }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
    }

    @Test("a target changes its state with the routes", .enabled(if: NetworkNamespace.isAvailable, "needs root"))
    func target() throws {
        try NetworkNamespace.run { commands in
            let inbox = try Inbox<TargetReachability>()
            let target = try #require(ReachabilityTarget("198.51.100.1"))
            let monitor = try ReachabilityMonitor(target, context: ReachabilityContext(configuration: .prompt))
            monitor.onUpdate(inbox.put)
            #expect(inbox.next()?.unsatisfiedReason == .noRoute)
            try commands.connect("eth0")
            let gained = inbox.next { $0.isReachable }
            #expect(gained?.nextHop?.description == "192.0.2.1")
            #expect(gained?.source?.description == "192.0.2.2")
            #expect(monitor.current == gained)
            try commands.ip("link", "set", "eth0", "down")
            #expect(inbox.next { !$0.isReachable } != nil)
        }
    }

    @Test("a context takes so many targets, and one more when another has ended")
    func limit() throws {
        let context = try ReachabilityContext()
        var monitors: [ReachabilityMonitor] = []
        while monitors.count < 1_024 {
            let target = ReachabilityTarget.address(IPAddress(ipv4Loopback: UInt16(monitors.count)))
            monitors.append(try ReachabilityMonitor(target, context: context))
        }
        let error = #expect(throws: ReachabilityError.self) { try ReachabilityMonitor(.any, context: context) }
        #expect(error?.code == .limit)
        monitors[7].cancel()
        let inbox = try Inbox<TargetReachability>()
        let monitor = try ReachabilityMonitor(.any, context: context)
        monitor.onUpdate(inbox.put)
        #expect(inbox.next() != nil)
    }
}

extension IPAddress {
    /// An address of 127.0.0.0/8.
    fileprivate init(ipv4Loopback number: UInt16) {
        let bytes: [UInt8] = [127, 0, UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
        self = IPAddress(bytes: bytes) ?? IPAddress.loopback
    }

    private static var loopback: IPAddress { IPAddress(ipv4Loopback: 1) }
}
