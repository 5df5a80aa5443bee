import RunLoop
import Synchronization
import Testing

@testable import Reachability

/// Many threads at one context, as a program has them that makes a monitor for each of its connections.
@Suite("Many threads at one context", .timeLimit(.minutes(10)))
struct CrowdTests {
    private static let threads = 8
    private static let monitorsOfEach = 125

    @Test("a thousand monitors come and go on eight threads: each is told, and none is left")
    func comeAndGo() throws {
        let context = try ReachabilityContext()
        let untold = Atomic<Int>(0)
        let crowd = try Self.crowd { thread in
            for number in 0..<Self.monitorsOfEach {
                do {
                    let told = try Inbox<Void>()
                    // Some want the same, and not all are cancelled by hand, or wait until they were told.
                    let target = ReachabilityTarget("127.0.\(thread).\(number % 7)") ?? .any
                    let path = try PathMonitor(context: context)
                    let monitor = try ReachabilityMonitor(target, context: context)
                    path.onUpdate { [weak path] _ in path?.cancel() }
                    monitor.onUpdate { [weak monitor] _ in
                        _ = monitor?.current
                        told.put(())
                    }
                    if number % 3 == 0 { continue }
                    if told.next() == nil { untold.add(1, ordering: .relaxed) }
                    if number % 2 == 0 { monitor.cancel() }
                } catch {
                    Issue.record(error)
                }
            }
        }
        for thread in crowd { thread.join() }
        #expect(untold.load(ordering: .relaxed) == 0)
        let last = try ReachabilityMonitor(.any, context: context)
        let told = try Inbox<Void>()
        last.onUpdate { _ in told.put(()) }
        #expect(told.next() != nil)
        // What has ended is taken down before what is new is watched.
        let another = try Inbox<Int>()
        last.onUpdate { [weak context] _ in another.put(context?.status.targets ?? -1) }
        #expect(another.next() == 1)
        context.close()
    }

    @Test("a context is closed by several threads while others make monitors and read streams: all of it ends")
    func closeAmongOthers() throws {
        for _ in 0..<20 {
            let context = try ReachabilityContext()
            let crowd = try Self.crowd { thread in
                if thread < 2 { return context.close() }
                do throws(ReachabilityError) {
                    while true {
                        let monitor = try PathMonitor(context: context)
                        monitor.onUpdate { _ in }
                        _ = monitor.updates
                    }
                } catch {
                    if error.code != .closed { Issue.record(error) }
                }
            }
            for thread in crowd { thread.join() }
        }
    }

    private static func crowd(_ body: @escaping @Sendable (Int) -> Void) throws -> [WorkerThread] {
        try (0..<threads).map { thread in try WorkerThread(name: "test") { body(thread) } }
    }
}
