/// Watches the reachability of one destination, as Apple's `SCNetworkReachability` does.
///
///     let monitor = try ReachabilityMonitor(.host("example.com"))
///     for await reachability in monitor.updates {
///         print(reachability.isReachable, reachability.flags.names, reachability.interface?.name ?? "-")
///     }
///
/// The monitor reports whether this machine has a route to the destination, over which interface and from which address, or
/// why not. It sends no packet to the destination, so it cannot say whether the destination answers. The system's resolver
/// looks up a host name: at first, when the network or the name servers change, and when the addresses are older than 30
/// seconds and the name cannot be reached any more, or is needed (a new monitor, a new reader of updates, ``refresh()``).
/// There is no timer: a name that moves while nothing happens is noticed at the next of these occasions.
///
/// It ends with ``cancel()``, or with the last reference to it and to the streams of its updates.
public final class ReachabilityMonitor: Sendable {
    /// The destination.
    public let target: ReachabilityTarget
    private let subscription: Subscription<TargetReachability>

    /// - Parameters:
    ///   - target: What to watch.
    ///   - context: The context, which several monitors may share; nil: the monitor creates its own.
    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread; `limit`: the context has too
    ///   many monitors or targets; `closed`: it was closed.
    public init(_ target: ReachabilityTarget, context: ReachabilityContext? = nil) throws(ReachabilityError) {
        let context = if let context { context } else { try ReachabilityContext() }
        self.target = target
        subscription = try Subscription(on: context.board, context: context) { .target(target, $0) }
    }

    /// Creates a monitor that calls back from within ``DrivenReachabilityContext/process()``.
    /// - Throws: `limit`: the context has too many monitors or targets.
    public init(_ target: ReachabilityTarget, context: DrivenReachabilityContext) throws(ReachabilityError) {
        self.target = target
        subscription = try Subscription(on: context.board, context: nil) { .target(target, $0) }
    }

    /// Creates a monitor for a user's input: a host name, an address, `LOCAL,REMOTE` or `any`.
    /// - Returns: Nil if `text` is none of these.
    /// - Throws: The errors of the other initializers.
    public convenience init?(_ text: String, context: ReachabilityContext? = nil) throws(ReachabilityError) {
        guard let target = ReachabilityTarget(text) else { return nil }
        try self.init(target, context: context)
    }

    deinit { cancel() }

    /// The value of the last update; nil before the first one, and for a host name before its look-up has ended. You can
    /// read it on any thread, without waiting.
    public var current: TargetReachability? { subscription.value }

    /// Calls `body` with the current value as soon as it is known, and at each change, until the monitor ends.
    ///
    /// The context's thread calls it, one call at a time. If `body` blocks, it delays all monitors of the context: do long
    /// work elsewhere. It may call every method, including ``cancel()``. A `body` that refers to the monitor keeps it alive
    /// until it is cancelled: capture the monitor weakly. You may add several bodies.
    public func onUpdate(_ body: @escaping @Sendable (TargetReachability) -> Void) {
        subscription.onUpdate(body)
    }

    /// The current value as soon as it is known, and each change, until the monitor or the reading task is cancelled.
    ///
    /// Each call makes a new stream. A slow reader misses intermediate values: the next value is always the newest. A stream
    /// keeps its monitor alive.
    public var updates: AsyncStream<TargetReachability> { subscription.stream(holding: self) }

    /// Looks a host name up again if the last look-up is older than 30 seconds, without waiting: a change comes as an update.
    /// Call this when you need the name, or when a connection to it has failed.
    public func refresh() { subscription.refresh() }

    /// Ends the monitor: streams finish, and no callback begins after this, unless another thread is just about to call it.
    /// Idempotent.
    public func cancel() { subscription.cancel() }

    /// Evaluates one destination once; a host name after its look-up.
    /// - Parameters:
    ///   - target: The destination.
    ///   - context: An existing context; without one, this creates a context.
    /// - Throws: `CancellationError` when the task is cancelled; the errors of the initializers.
    public static func evaluate(
        _ target: ReachabilityTarget, context: ReachabilityContext? = nil
    ) async throws -> TargetReachability {
        let monitor = try ReachabilityMonitor(target, context: context)
        defer { monitor.cancel() }
        for await reachability in monitor.updates { return reachability }
        try Task.checkCancellation()
        throw ReachabilityError(.closed, "the reachability context was closed")
    }
}
