/// Watches the way to one destination, as Apple's `SCNetworkReachability` does.
///
///     let monitor = try ReachabilityMonitor(.host("example.com"))
///     for await reachability in monitor.updates {
///         print(reachability.isReachable, reachability.flags.names, reachability.interface?.name ?? "-")
///     }
///
/// Whether the destination answers is not asked: no packet is sent to it. What is told is whether this machine has a
/// way there, by which interface and from which address, and if not, why. A host name is looked up by the system's
/// resolver, and again when the network or the name servers change.
///
/// It ends with ``cancel()``, or when neither it nor a stream of its updates is referred to any more.
public final class ReachabilityMonitor: Sendable {
    /// What it watches.
    public let target: ReachabilityTarget
    private let subscription: Subscription<TargetReachability>

    /// - Parameters:
    ///   - target: What to watch.
    ///   - context: What it shares with other monitors; nil for one of its own.
    /// - Throws: `system`: the kernel refuses a netlink socket, a descriptor or a thread; `limit`: the context has too
    ///   many monitors or targets; `closed`: it was closed.
    public init(_ target: ReachabilityTarget, context: ReachabilityContext? = nil) throws(ReachabilityError) {
        let context = if let context { context } else { try ReachabilityContext() }
        self.target = target
        subscription = try Subscription(on: context.board, context: context) { .target(target, $0) }
    }

    /// One that calls back from within ``DrivenReachabilityContext/process()``.
    /// - Throws: `limit`: the context has too many monitors or targets.
    public init(_ target: ReachabilityTarget, context: DrivenReachabilityContext) throws(ReachabilityError) {
        self.target = target
        subscription = try Subscription(on: context.board, context: nil) { .target(target, $0) }
    }

    /// One for what a user typed: a host name, an address, `LOCAL,REMOTE` or `any`.
    /// - Returns: Nil when `text` is none of these.
    /// - Throws: As the other initializers do.
    public convenience init?(_ text: String, context: ReachabilityContext? = nil) throws(ReachabilityError) {
        guard let target = ReachabilityTarget(text) else { return nil }
        try self.init(target, context: context)
    }

    deinit { cancel() }

    /// What was told last; nil until it was judged for the first time, and for a host name until it was looked up. On
    /// any thread, without waiting.
    public var current: TargetReachability? { subscription.value }

    /// Calls `body` with what is known now, once something is, and at each change, until the monitor ends.
    ///
    /// It is called on the context's thread, one call at a time. What waits there keeps all monitors of the context
    /// waiting: hand long work over. It may call everything here, ``cancel()`` included. A `body` that refers to the
    /// monitor keeps it alive until it is cancelled: capture it weakly. May be called several times.
    public func onUpdate(_ body: @escaping @Sendable (TargetReachability) -> Void) {
        subscription.onUpdate(body)
    }

    /// What is known now, once something is, and each change, until the monitor or the task that reads is cancelled.
    ///
    /// Each call makes a stream of its own. A reader that is slow misses what lies between: the next value is always
    /// the newest. A stream keeps its monitor alive.
    public var updates: AsyncStream<TargetReachability> { subscription.stream(holding: self) }

    /// Ends it: streams finish, and no call of a callback begins after this, unless another thread is about to make
    /// it. Idempotent.
    public func cancel() { subscription.cancel() }

    /// Judges one destination once; a host name once it was looked up.
    /// - Parameters:
    ///   - target: What to judge.
    ///   - context: One that is there already, which spares the making of another.
    /// - Throws: `CancellationError` when the task is cancelled; what the initializers throw.
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
