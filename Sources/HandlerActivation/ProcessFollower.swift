internal import CRingwakeLinux
internal import Glibc
internal import RingwakeCore
internal import RunLoop

/// Watches a process that is not our child: its end is seen, but neither its status nor the signal.
final class ProcessFollower {
    let identity: ProcessIdentity
    private let pidfd: Int32
    private var source: ReadinessSource?

    /// Follows the process that has this number now. Nil when there is none, or it cannot be watched.
    convenience init?(_ pid: Int32, runLoop: RunLoop, onEnd: @escaping () -> Void) {
        guard let identity = ProcessIdentity(current: pid) else { return nil }
        do throws(Failure) {
            try self.init(identity, runLoop: runLoop, onEnd: onEnd)
        } catch {
            return nil
        }
    }

    /// - Parameter onEnd: Called once by the run loop when it has ended; not after `cancel`.
    init(_ identity: ProcessIdentity, runLoop: RunLoop, onEnd: @escaping () -> Void) throws(Failure) {
        self.identity = identity
        pidfd = identity.pid > 1 ? ringwake_pidfd_open(identity.pid) : -1
        let reason = errno
        // Only now: what the start time is of, the descriptor is of too.
        guard ProcessIdentity(current: identity.pid) == identity else { throw .hasEnded }
        guard pidfd >= 0 else { throw .unwatched(String(cString: strerror(reason))) }
        // A zombie, which its parent has not fetched yet.
        guard isRunning else { throw .hasEnded }
        do throws(RunLoopError) {
            source = try runLoop.watch(pidfd, for: .read, cause: .child) { [weak self] _ in
                self?.cancel()
                onEnd()
            }
        } catch {
            throw .unwatched(error.description)
        }
    }

    enum Failure: Error {
        case hasEnded
        /// It runs, but why its end would not be seen.
        case unwatched(String)
    }

    isolated deinit {
        source?.cancel()
        if pidfd >= 0 { close(pidfd) }
    }

    func cancel() {
        source?.cancel()
        source = nil
    }

    /// Signals the process alone, if it still runs.
    func signal(_ signal: Int32) {
        if isRunning { kill(identity.pid, signal) }
    }

    /// Its group; nil when the process does not run any more.
    var group: ProcessGroup? { isRunning ? ProcessGroup(leader: identity.pid) : nil }

    /// Whoever adopted it may have reaped it already, and its number may then name a stranger. It takes all other numbers
    /// to come round to it again, so none does between this look and a signal.
    private var isRunning: Bool {
        var descriptor = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 0
    }
}
