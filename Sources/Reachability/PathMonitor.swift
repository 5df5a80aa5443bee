/// Watches the network as a whole, as Apple's `NWPathMonitor` does.
///
///     let monitor = try PathMonitor()
///     for await path in monitor.updates {
///         print(path.status, path.interfaces.map(\.name))
///     }
///
/// The monitor reads the kernel's tables, and the kernel notifies it of changes. It sends no packet and needs no privileges.
/// It reports a gain or a change of interface immediately, and a loss when it has lasted
/// ``ReachabilityConfiguration/lossHold``.
///
/// It ends with ``cancel()``, or with the last reference to it and to the streams of its updates.
public final class PathMonitor: Sendable {
    private let subscription: Subscription<NetworkPath>

    /// - Parameter context: The context, which several monitors may share; nil: the monitor creates its own.
    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread; `limit`: the context has too
    ///   many monitors; `closed`: it was closed.
    public init(context: ReachabilityContext? = nil) throws(ReachabilityError) {
        let context = if let context { context } else { try ReachabilityContext() }
        subscription = try Subscription(on: context.board, context: context) { .path($0) }
    }

    /// Creates a monitor that calls back from within ``DrivenReachabilityContext/process()``.
    /// - Throws: `limit`: the context has too many monitors.
    public init(context: DrivenReachabilityContext) throws(ReachabilityError) {
        subscription = try Subscription(on: context.board, context: nil) { .path($0) }
    }

    deinit { cancel() }

    /// The path of the last update; known from the start. You can read it on any thread, without waiting.
    public var currentPath: NetworkPath { subscription.board.path }

    /// Calls `body` with the current path and at each change, until the monitor ends.
    ///
    /// The context's thread calls it, one call at a time. If `body` blocks, it delays all monitors of the context: do long
    /// work elsewhere. It may call every method, including ``cancel()``. A `body` that refers to the monitor keeps it alive
    /// until it is cancelled: capture the monitor weakly. You may add several bodies.
    public func onUpdate(_ body: @escaping @Sendable (NetworkPath) -> Void) {
        subscription.onUpdate(body)
    }

    /// The current path and each change, until the monitor or the reading task is cancelled.
    ///
    /// Each call makes a new stream. A slow reader misses intermediate values: the next value is always the newest. A stream
    /// keeps its monitor alive.
    public var updates: AsyncStream<NetworkPath> { subscription.stream(holding: self) }

    /// Ends the monitor: streams finish, and no callback begins after this, unless another thread is just about to call it.
    /// Idempotent.
    public func cancel() { subscription.cancel() }
}
