/// A context without a thread, for a program with its own loop: poll(2), epoll, GLib, libuv.
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
/// Its monitors call back only from within ``process()``; their values are as old as the last call of it. You may use
/// monitors on any thread, but the context only on the thread that drives it. The monitors end with the context.
public final class DrivenReachabilityContext {
    private let side: LoopSide
    private var isProcessing = false

    /// - Throws: `system`: the kernel refuses a netlink socket, or a descriptor.
    public init(configuration: ReachabilityConfiguration = .init()) throws(ReachabilityError) {
        side = try LoopSide(configuration: configuration)
    }

    deinit { side.close() }

    var board: WatchBoard { side.board }

    /// The status at the end of the last ``process()``.
    public var status: MonitorStatus { board.status }

    /// Becomes readable when ``process()`` has something to do, after ``prepareToWait()`` has returned true. The context owns
    /// the descriptor: wait for it, but neither read nor close it. You may add it to an epoll set.
    public var descriptor: Int32 { side.descriptor }

    /// Sets the timer behind ``descriptor``. Call it before each wait.
    /// - Returns: False if there is already something to do: then do not wait, but call ``process()``.
    public func prepareToWait() -> Bool { side.prepareToWait() }

    /// Processes everything that is pending, without waiting. From within a callback it does nothing.
    public func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        side.turn(timeout: .zero)
    }
}
