/// A context without a thread, for a program that has a loop of its own: poll(2), epoll, GLib, libuv.
///
///     let context = try DrivenReachabilityContext()
///     let monitor = try PathMonitor(context: context)
///     monitor.onUpdate { path in print(path.status) }
///     while isRunning {
///         var entries = [pollfd(fd: context.descriptor, events: Int16(POLLIN), revents: 0)]
///         if context.prepareToWait() { poll(&entries, 1, -1) }
///         context.process()
///     }
///
/// Its monitors call back from within ``process()`` and at no other time; what they say is as old as the last call of
/// it. Monitors may be used on any thread; the context belongs to the one that drives it, and when it goes, they end.
public final class DrivenReachabilityContext {
    private let side: LoopSide
    private var isProcessing = false

    /// - Throws: `system`: the kernel refuses a netlink socket, or a descriptor.
    public init(configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        side = try LoopSide(configuration: configuration)
    }

    deinit { side.close() }

    var board: WatchBoard { side.board }

    /// How the monitor was doing at the end of the last ``process()``.
    public var status: MonitorStatus { board.status }

    /// Readable when ``process()`` has something to do, after ``prepareToWait()`` has said that there was nothing. It
    /// stays the context's: wait for it, and neither read nor close it. It may be put into an epoll set.
    public var descriptor: Int32 { side.descriptor }

    /// Sets the timer behind ``descriptor``. Call it before each wait.
    /// - Returns: False when there is something to do already: then do not wait, and call ``process()``.
    public func prepareToWait() -> Bool { side.prepareToWait() }

    /// Does what there is to do, without waiting. From within a callback it does nothing.
    public func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        side.turn(timeout: .zero)
    }
}
