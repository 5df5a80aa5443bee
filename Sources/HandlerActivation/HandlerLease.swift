package import RingwakeCore

/// A handler that was woken, for as long as it holds its calls: a process, a unit, the owner of a name, a connection.
package protocol HandlerLease: AnyObject {
    /// Which start of a handler it is.
    var wake: WakeID { get }
    /// The handler's process; nil while it is not known, and where there is no way to know it.
    var pid: Int32? { get }
    /// False from the moment when its end is known, or that it did not start.
    var isRunning: Bool { get }
    /// What finds the handler again when the daemon was restarted; nil while it is not known, and where there is none.
    var mark: HandlerMark? { get }

    /// Ends the handler: asks it to end now, and ends it by force when it is still there after `grace`. A handler that
    /// has not started yet is ended as soon as it has. No effect the second time, or after its end.
    func stop(grace: Duration)
    /// It has no call any more: it may clean up for `timeout`, and is stopped then. No effect while it is being stopped.
    func expectExit(within timeout: Duration, grace: Duration)
    /// It has a call again, and may stay. No effect while it is being stopped.
    func keep()
}

/// What becomes of a handler. Of `started` and `failed` one is called, once; after `started`, `ended` is, once. A
/// handler that is stopped before it has started may end without either.
package struct HandlerEvents {
    /// It runs.
    package let started: (_ pid: Int32?) -> Void
    /// It could not be started. The message says what to do.
    package let failed: (RingwakeError) -> Void
    /// It is gone.
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
