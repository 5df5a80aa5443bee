import Glibc
import RunLoop
import Synchronization
import Testing

@testable import Reachability

/// Contexts and monitors that end in awkward places: nothing may hang, and nothing may stay.
@Suite("Lifetimes of contexts and monitors", .timeLimit(.minutes(10)))
struct LifetimeTests {
    /// Reports its end.
    private final class Sentinel: Sendable {
        let ended: Inbox<Void>

        init(_ ended: Inbox<Void>) {
            self.ended = ended
        }

        deinit { ended.put(()) }
    }

    @Test("a callback may cancel its own monitor, and is not called again")
    func cancelInCallback() throws {
        let context = try ReachabilityContext()
        let told = try Inbox<Void>()
        let monitor = try PathMonitor(context: context)
        monitor.onUpdate { path in
            monitor.cancel()
            told.put(())
        }
        monitor.onUpdate { _ in told.put(()) }
        #expect(told.next() != nil)
        context.close()
        #expect(told.take() == nil)
    }

    @Test("a callback may make another monitor, of its context and of a new one")
    func makeInCallback() throws {
        let context = try ReachabilityContext()
        let told = try Inbox<Void>()
        let made = Mutex<[PathMonitor]>([])
        let monitor = try PathMonitor(context: context)
        monitor.onUpdate { _ in
            do {
                for other in [try PathMonitor(context: context), try PathMonitor()] {
                    other.onUpdate { _ in told.put(()) }
                    made.withLock { $0.append(other) }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(told.next() != nil)
        #expect(told.next() != nil)
        context.close()
    }

    @Test("a callback may let go of the last reference: the thread ends and what it held goes")
    func lastReferenceInCallback() throws {
        let ended = try Inbox<Void>()
        let held = Mutex<PathMonitor?>(nil)
        let box = Reference(held)
        do {
            let sentinel = Sentinel(ended)
            let monitor = try PathMonitor()
            box.value.withLock { $0 = monitor }
            monitor.onUpdate { _ in
                withExtendedLifetime(sentinel) {}
                let last = box.value.withLock { monitor in
                    defer { monitor = nil }
                    return monitor
                }
                withExtendedLifetime(last) {}
            }
        }
        #expect(ended.next() != nil)
    }

    @Test("close from within a callback does not wait for itself")
    func closeInCallback() throws {
        let context = try ReachabilityContext()
        let told = try Inbox<Void>()
        let monitor = try PathMonitor(context: context)
        monitor.onUpdate { _ in
            context.close()
            told.put(())
        }
        #expect(told.next() != nil)
        context.close()
        #expect(throws: ReachabilityError.self) { try PathMonitor(context: context) }
    }

    @Test("letting go of a context does not wait for a callback that waits for us")
    func noJoin() throws {
        let (entered, released, left) = (try Inbox<Void>(), try Inbox<Void>(), try Inbox<Bool>())
        var monitor: PathMonitor? = try PathMonitor()
        monitor?.onUpdate { _ in
            entered.put(())
            left.put(released.next() != nil)
        }
        #expect(entered.next() != nil)
        monitor = nil
        released.put(())
        #expect(left.next() == true)
    }

    @Test("closing a context ends the streams of its monitors")
    func closeEndsStreams() async throws {
        let context = try ReachabilityContext()
        let monitor = try PathMonitor(context: context)
        let updates = monitor.updates
        context.close()
        for await _ in updates {}
        for await _ in monitor.updates { Issue.record("told after the end") }
    }

    @Test("a stream is enough to keep a monitor, and leaving the loop ends it")
    func streamAlone() async throws {
        var context: ReachabilityContext? = try ReachabilityContext()
        weak let weakContext = context
        var updates: AsyncStream<NetworkPath>? = try context.map { try PathMonitor(context: $0).updates }
        context = nil
        #expect(weakContext != nil)
        if let updates { for await _ in updates { break } }
        updates = nil
        #expect(weakContext == nil)
    }

    @Test("several readers of one monitor get a stream each")
    func readers() async throws {
        let monitor = try PathMonitor()
        await withTaskGroup(of: NetworkPath?.self) { group in
            for updates in [monitor.updates, monitor.updates, monitor.updates] {
                group.addTask { await updates.first { _ in true } }
            }
            for await path in group { #expect(path == monitor.currentPath) }
        }
    }

    @Test("a context that is closed, or let go of, leaves no descriptor, thread or stack", arguments: [true, false])
    func leaks(isClosed: Bool) throws {
        let rounds = 150
        func count() -> [Int] {
            [Self.entries("/proc/self/fd"), Self.entries("/proc/self/task"), Self.lines("/proc/self/maps")]
        }
        let before = count()
        for _ in 0..<rounds {
            let context = try ReachabilityContext()
            let told = try Inbox<Void>()
            let monitors = (try PathMonitor(context: context), try ReachabilityMonitor(.any, context: context))
            monitors.0.onUpdate { _ in told.put(()) }
            monitors.1.onUpdate { _ in told.put(()) }
            _ = try #require(told.next())
            _ = try #require(told.next())
            if isClosed { context.close() }
        }
        // Other tests run meanwhile, with fewer descriptors, threads and stacks than a leak would leave. The end of a
        // thread that nobody joins is told by nothing, so it is looked for.
        // A stack that is left is two mappings, with its guard page.
        let left = [rounds, rounds, 2 * rounds]
        func isLow() -> Bool { zip(zip(count(), before), left).allSatisfy { $0.0 < $0.1 + $1 } }
        for _ in 0..<2_000 where !isLow() { poll(nil, 0, 10) }
        #expect(isLow())
    }

    private static func entries(_ folder: String) -> Int {
        guard let directory = opendir(folder) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    private static func lines(_ path: String) -> Int {
        guard let file = fopen(path, "r") else { return 0 }
        defer { fclose(file) }
        var count = 0
        while true {
            switch getc(file) {
            case EOF: return count
            case 10: count += 1
            default: break
            }
        }
    }
}

/// Shares what cannot be copied.
private final class Reference<Value: ~Copyable & Sendable>: Sendable {
    let value: Value

    init(_ value: consuming Value) {
        self.value = value
    }
}
