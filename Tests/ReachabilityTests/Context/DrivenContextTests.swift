import Glibc
import Reachability
import RunLoop
import Testing

@Suite("Driven reachability context", .timeLimit(.minutes(10)))
struct DrivenContextTests {
    private let context: DrivenReachabilityContext

    init() throws {
        context = try DrivenReachabilityContext(configuration: .prompt)
    }

    /// Waits as a program's own loop does.
    /// - Returns: False when nothing came for very long.
    private func wait() -> Bool {
        guard context.prepareToWait() else { return true }
        var entry = pollfd(fd: context.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 20_000) == 1
    }

    private func drive(until isDone: () -> Bool) {
        while !isDone(), wait() { context.process() }
    }

    @Test("monitors are told in process, and at no other time")
    func process() throws {
        let inbox = try Inbox<NetworkPath>()
        let monitor = try PathMonitor(context: context)
        monitor.onUpdate(inbox.put)
        #expect(wait())
        #expect(inbox.take() == nil)
        var path: NetworkPath?
        drive {
            path = inbox.take()
            return path != nil
        }
        #expect(path == monitor.currentPath)
    }

    @Test("what another thread asks for makes the descriptor readable")
    func otherThread() throws {
        drive { !context.prepareToWait() || context.status.resynchronizations > 0 }
        let monitor = try ReachabilityMonitor(.any, context: context)
        let inbox = try Inbox<TargetReachability>()
        context.process()
        let thread = try WorkerThread(name: "test") {
            monitor.onUpdate(inbox.put)
        }
        var told: TargetReachability?
        drive {
            told = inbox.take()
            return told != nil
        }
        thread.join()
        #expect(told != nil)
    }

    @Test("processing from within a callback does nothing")
    func reentry() throws {
        let inbox = try Inbox<Bool>()
        let monitor = try PathMonitor(context: context)
        // Sound: the callback runs inside `process`, on this thread.
        nonisolated(unsafe) let context = context
        monitor.onUpdate { _ in
            context.process()
            inbox.put(true)
        }
        var isDone = false
        drive {
            isDone = inbox.take() ?? isDone
            return isDone
        }
        #expect(isDone)
    }

    @Test("when the context goes its monitors end, and nothing keeps it")
    func end() async throws {
        var context: DrivenReachabilityContext? = try DrivenReachabilityContext()
        weak let gone = context
        let monitor = try context.map { try PathMonitor(context: $0) }
        let updates = monitor?.updates
        context?.process()
        context = nil
        #expect(gone == nil)
        var last: NetworkPath?
        for await path in try #require(updates) { last = path }
        #expect(last == monitor?.currentPath)
    }

    @Test(
        "a change of the network makes the descriptor readable",
        .enabled(if: NetworkNamespace.isAvailable, "needs root: it makes network namespaces"))
    func change() throws {
        try NetworkNamespace.run { commands in
            let test = try DrivenContextTests()
            let monitor = try PathMonitor(context: test.context)
            test.context.process()
            try commands.connect("eth0")
            test.drive { monitor.currentPath.status == .satisfied }
            #expect(monitor.currentPath.interfaces.map(\.name) == ["eth0"])
        }
    }
}
