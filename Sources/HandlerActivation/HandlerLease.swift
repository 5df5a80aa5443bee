package import RingwakeCore

/// A woken handler, for as long as it holds its calls: a process, a unit, the owner of a name, or a connection.
package protocol HandlerLease: AnyObject {
    /// The wake that started the handler.
    var wake: WakeID { get }
    /// PID of the handler; nil if it isn't known yet or can't be known.
    var pid: Int32? { get }
    /// False once the handler is known to have ended or to have failed to start.
    var isRunning: Bool { get }
    /// How to find the handler after the daemon restarts; nil if that isn't possible or not known yet.
    var mark: HandlerMark? { get }

    /// Asks the handler to end, and kills it if it still runs after `grace`. A handler that hasn't started yet is ended
    /// as soon as it has. Calling this again, or after the handler has ended, has no effect.
    func stop(grace: Duration)
    /// The handler has no call any more. It may clean up for `timeout`, then it is stopped. No effect while it is being
    /// stopped.
    func expectExit(within timeout: Duration, grace: Duration)
    /// The handler has a call again, so it may continue. No effect while it is being stopped.
    func keep()
}

/// What happens to a handler. Either `started` or `failed` is called, once. After `started`, `ended` is called once. If
/// a handler is stopped before it has started, `ended` may be called without `started`.
package struct HandlerEvents {
    /// The handler runs.
    package let started: (_ pid: Int32?) -> Void
    /// The handler couldn't be started. The message says what to do.
    package let failed: (RingwakeError) -> Void
    /// The handler has ended.
    package let ended: (HandlerExit) -> Void

    package init(
        started: @escaping (_ pid: Int32?) -> Void, failed: @escaping (RingwakeError) -> Void,
        ended: @escaping (HandlerExit) -> Void
    ) {
        self.started = started
        self.failed = failed
        self.ended = ended
    }
}
