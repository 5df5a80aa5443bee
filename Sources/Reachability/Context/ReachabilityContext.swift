internal import RunLoop

/// Watches the kernel's tables for one or more monitors, on its own thread, which sleeps until they change.
///
///     let context = try ReachabilityContext()
///     let path = try PathMonitor(context: context)
///     let server = try ReachabilityMonitor(.host("example.com"), context: context)
///
/// A monitor that you create without a context creates its own. If you have several monitors, share one context: it then
/// watches the kernel once, and evaluates each target once.
///
/// The context keeps watching while there is a monitor or a stream of updates; it ends with the last of them and the last
/// reference to itself. It watches the network namespace of the thread that created it. A child of fork(2) does not have
/// the context's thread: do not use the context there until the child executes a program.
public final class ReachabilityContext: Sendable {
    let board: WatchBoard
    private let thread: WorkerThread

    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread.
    public init(configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        let side = try LoopSide(configuration: configuration)
        board = side.board
        thread = try Self.start(side)
    }

    private static func start(_ side: sending LoopSide) throws(ReachabilityError) -> WorkerThread {
        do throws(RunLoopError) {
            return try WorkerThread(name: "reachability") { side.run() }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on tasks")
        }
    }

    // The thread is not joined: the owner of the last reference may hold a lock that a running callback waits for, or
    // may be that callback.
    deinit { board.close() }

    /// The status: the filter's level, and how many messages were received and dropped.
    public var status: MonitorStatus { board.status }

    /// Ends every monitor of this context, and returns when its thread has ended and every descriptor is closed.
    ///
    /// Optional: a context without references ends by itself, a moment later. Do not call this while you hold a lock that a
    /// callback takes. Called from a callback, or while another thread closes the context, it does not wait. Idempotent.
    public func close() {
        board.close()
        thread.join()
    }
}
