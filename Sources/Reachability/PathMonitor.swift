/// Watches what the network as a whole offers, as Apple's `NWPathMonitor` does.
///
///     let monitor = try PathMonitor()
///     for await path in monitor.updates {
///         print(path.status, path.interfaces.map(\.name))
///     }
///
/// It reads the kernel's tables, is told by the kernel when they change, and sends no packet. It needs no privileges.
/// A gain, or another interface, is told at once; a loss once it has lasted ``ReachabilityConfiguration/lossHold``.
///
/// It ends with ``cancel()``, or when neither it nor a stream of its updates is referred to any more.
public final class PathMonitor: Sendable {
    private let subscription: Subscription<NetworkPath>

    /// - Parameter context: What it shares with other monitors; nil for one of its own.
    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread; `limit`: the context has too
    ///   many monitors; `closed`: it was closed.
    public init(context: ReachabilityContext? = nil) throws(ReachabilityError) {
        let context = if let context { context } else { try ReachabilityContext() }
        subscription = try Subscription(on: context.board, context: context) { .path($0) }
    }

    /// One that calls back from within ``DrivenReachabilityContext/process()``.
    /// - Throws: `limit`: the context has too many monitors.
    public init(context: DrivenReachabilityContext) throws(ReachabilityError) {
        subscription = try Subscription(on: context.board, context: nil) { .path($0) }
    }

    deinit { cancel() }

    /// The path as it was told last; known from the start. On any thread, without waiting.
    public var currentPath: NetworkPath { subscription.board.path }

    /// Calls `body` with the path now and at each change, until the monitor ends.
    ///
    /// It is called on the context's thread, one call at a time. What waits there keeps all monitors of the context
    /// waiting: hand long work over. It may call everything here, ``cancel()`` included. A `body` that refers to the
    /// monitor keeps it alive until it is cancelled: capture it weakly. May be called several times.
    public func onUpdate(_ body: @escaping @Sendable (NetworkPath) -> Void) {
        subscription.onUpdate(body)
    }

    /// The path now and at each change, until the monitor or the task that reads is cancelled.
    ///
    /// Each call makes a stream of its own. A reader that is slow misses what lies between: the next value is always
    /// the newest. A stream keeps its monitor alive.
    public var updates: AsyncStream<NetworkPath> { subscription.stream(holding: self) }

    /// Ends it: streams finish, and no call of a callback begins after this, unless another thread is about to make
    /// it. Idempotent.
    public func cancel() { subscription.cancel() }
}
