internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Watches a process that isn't our child. We see that it ends, but not its status or signal. Where the kernel has no
/// pidfds, we look once a second.
final class ProcessFollower {
    let identity: ProcessIdentity
    private let pidfd: Int32
    private let runLoop: RunLoop
    private let onEnd: () -> Void
    private var source: ReadinessSource?
    private var timer: Timer?

    private static let pause: Duration = .seconds(1)

    /// Follows the process that has this PID now. Nil if there is none or it can't be watched.
    convenience init?(_ pid: Int32, runLoop: RunLoop, onEnd: @escaping () -> Void) {
        guard let identity = ProcessIdentity(current: pid) else { return nil }
        do throws(Failure) {
            try self.init(identity, runLoop: runLoop, onEnd: onEnd)
        } catch {
            return nil
        }
    }

    /// - Parameter onEnd: the loop calls it once when the process has ended; not after `cancel`.
    init(_ identity: ProcessIdentity, runLoop: RunLoop, onEnd: @escaping () -> Void) throws(Failure) {
        self.identity = identity
        self.runLoop = runLoop
        self.onEnd = onEnd
        pidfd = identity.pid > 1 ? ringwake_pidfd_open(identity.pid) : -1
        let reason = errno
        // Check only after opening the descriptor: then both are of the same process.
        guard ProcessIdentity(current: identity.pid) == identity else { throw .hasEnded }
        guard pidfd >= 0 || reason == ENOSYS || reason == EPERM else {
            throw .unwatched(String(cString: strerror(reason)))
        }
        // A zombie that its parent hasn't reaped yet.
        guard isRunning else { throw .hasEnded }
        guard pidfd >= 0 else {
            lookLater()
            return
        }
        do throws(RunLoopError) {
            source = try runLoop.watch(pidfd, for: .read, cause: .child) { [weak self] _ in
                self?.ended()
            }
        } catch {
            throw .unwatched(error.description)
        }
    }

    enum Failure: Error {
        case hasEnded
        /// The process runs, but can't be watched, for this reason.
        case unwatched(String)
    }

    isolated deinit {
        cancel()
        if pidfd >= 0 { close(pidfd) }
    }

    func cancel() {
        source?.cancel()
        source = nil
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }

    private func ended() {
        cancel()
        onEnd()
    }

    private func lookLater() {
        let time = runLoop.refreshNow().advanced(by: Self.pause)
        timer = runLoop.schedule(at: time, tolerance: Self.pause, wakingFromSuspend: false) { [weak self] in
            guard let self else { return }
            timer = nil
            if isRunning { lookLater() } else { ended() }
        }
    }

    /// Signals the process alone, if it still runs.
    func signal(_ signal: Int32) {
        if isRunning { kill(identity.pid, signal) }
    }

    /// The process's group; nil if the process has ended.
    var group: ProcessGroup? { isRunning ? ProcessGroup(leader: identity.pid) : nil }

    /// A parent may already have reaped the process, and its PID may be reused. But reuse needs all other PIDs to come
    /// first, so it doesn't happen between this check and a signal.
    private var isRunning: Bool {
        guard pidfd >= 0 else { return ProcessIdentity(current: identity.pid) == identity }
        var descriptor = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }
}
