internal import Glibc
package import RingwakeCore
internal import RunLoop

/// A handler's process, the leader of a process group of its own.
package final class RunningHandler {
    /// How much later than asked for the group may be signalled, so that several end in one wakeup.
    private static let maximumTolerance: Duration = .milliseconds(250)

    /// The process id, which is the id of its process group too.
    package let pid: Int32
    /// Which start of a handler it is.
    package let wake: WakeID
    /// False from the moment when its end is known.
    package private(set) var isRunning = true

    private let runLoop: RunLoop
    /// For the end of the time that it has left: to exit by itself, or between SIGTERM and SIGKILL.
    private var timer: Timer?
    private var isStopping = false

    init(pid: Int32, wake: WakeID, runLoop: RunLoop) {
        self.pid = pid
        self.wake = wake
        self.runLoop = runLoop
    }

    /// It has no call any more: it may tidy up for `patience`, and is stopped then. No effect while it is being stopped.
    package func expectExit(within patience: Duration, grace: Duration) {
        guard isRunning, !isStopping else { return }
        schedule(after: patience) { $0.stop(grace: grace) }
    }

    /// It has a call again, and may stay. No effect while it is being stopped.
    package func keep() {
        guard !isStopping, let timer else { return }
        runLoop.cancel(timer)
        self.timer = nil
    }

    /// Ends the process and all of its group: SIGTERM now, SIGKILL when it still runs after `grace`. Those of the
    /// group that are left when the leader has ended are killed then. No effect the second time, or after its end.
    package func stop(grace: Duration) {
        guard isRunning, !isStopping else { return }
        isStopping = true
        guard grace > .zero else { return signalGroup(SIGKILL) }
        signalGroup(SIGTERM)
        // A process that is stopped takes SIGTERM only when it goes on.
        signalGroup(SIGCONT)
        schedule(after: grace) { $0.signalGroup(SIGKILL) }
    }

    private func schedule(after time: Duration, _ body: @escaping (RunningHandler) -> Void) {
        if let timer { runLoop.cancel(timer) }
        let deadline = runLoop.refreshNow().advanced(by: time)
        timer = runLoop.schedule(at: deadline, tolerance: min(time / 4, Self.maximumTolerance)) { [weak self] in
            guard let self else { return }
            self.timer = nil
            body(self)
        }
    }

    /// The leader has ended and is not reaped yet: the last moment at which the group's id is surely its own.
    func leaderEnded() {
        if isStopping { signalGroup(SIGKILL) }
        isRunning = false
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }

    private func signalGroup(_ signal: Int32) {
        // Once reaped, the number may name a stranger.
        guard isRunning else { return }
        // ESRCH: it went to another group; it alone is still ours.
        if kill(-pid, signal) != 0 { kill(pid, signal) }
    }
}
