internal import Glibc
package import RingwakeCore
internal import RunLoop

/// A handler's process, the leader of a process group of its own.
package final class RunningHandler {
    /// How much later than asked for the group may be killed, so that several end in one wakeup.
    private static let maximumTolerance: Duration = .milliseconds(250)

    /// The process id, which is the id of its process group too.
    package let pid: Int32
    /// The call that it was woken for.
    package let call: CallKey
    /// False from the moment when its end is known.
    package private(set) var isRunning = true

    private let runLoop: RunLoop
    private var killTimer: Timer?
    private var isStopping = false

    init(pid: Int32, call: CallKey, runLoop: RunLoop) {
        self.pid = pid
        self.call = call
        self.runLoop = runLoop
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
        let tolerance = min(grace / 4, Self.maximumTolerance)
        killTimer = runLoop.schedule(at: runLoop.refreshNow().advanced(by: grace), tolerance: tolerance) {
            [weak self] in
            self?.killTimer = nil
            self?.signalGroup(SIGKILL)
        }
    }

    /// The leader has ended and is not reaped yet: the last moment at which the group's id is surely its own.
    func leaderEnded() {
        if isStopping { signalGroup(SIGKILL) }
        isRunning = false
        if let killTimer { runLoop.cancel(killTimer) }
        killTimer = nil
    }

    private func signalGroup(_ signal: Int32) {
        // Once reaped, the number may name a stranger.
        guard isRunning else { return }
        // ESRCH: it went to another group; it alone is still ours.
        if kill(-pid, signal) != 0 { kill(pid, signal) }
    }
}
