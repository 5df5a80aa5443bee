internal import RunLoop
internal import Synchronization

/// What monitors share: one watch of the kernel's tables, on a thread of its own that sleeps until they change.
///
///     let context = try ReachabilityContext()
///     let path = try PathMonitor(context: context)
///     let server = try ReachabilityMonitor(.host("example.com"), context: context)
///
/// A monitor that is made without a context makes one of its own. Share one as soon as there are several: the kernel is
/// then watched once, and each target is looked at once.
///
/// The context keeps watching while a monitor or a stream of updates is there; it ends with the last of them and the
/// last reference to itself. It watches the network namespace of the thread that made it. A child of fork(2) has no
/// such thread: there nothing of it may be used, until the child executes a program.
public final class ReachabilityContext: Sendable {
    let board: WatchBoard
    /// Nil once somebody has seen to its end.
    private let thread: Mutex<WorkerThread?>

    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread.
    public init(configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        let side = try LoopSide(configuration: configuration)
        board = side.board
        thread = Mutex(try Self.start(side))
    }

    private static func start(_ side: sending LoopSide) throws(ReachabilityError) -> WorkerThread {
        do throws(RunLoopError) {
            return try WorkerThread(name: "reachability") { side.run() }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on tasks")
        }
    }

    deinit {
        board.close()
        // Not joined: who lets go of the last reference may hold a lock that a running callback waits for, or may be
        // that callback.
        takeThread()?.detach()
    }

    /// How the monitor is doing: the filter's level, what was dropped, how often it was woken and why.
    public var status: MonitorStatus { board.status }

    /// Ends every monitor of this context, and returns when its thread has ended and every descriptor is closed.
    ///
    /// Never needed: a context that nobody refers to ends by itself, a moment later. Do not call it while you hold a
    /// lock that a callback takes. Called from a callback, or while another thread is in it, it does not wait.
    /// Idempotent.
    public func close() {
        board.close()
        guard let thread = takeThread() else { return }
        if thread.isCurrent { thread.detach() } else { thread.join() }
    }

    private func takeThread() -> WorkerThread? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }
}
