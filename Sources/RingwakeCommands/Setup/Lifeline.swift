import CRingwakeLinux
import Glibc
import RingwakeCore

/// What a process lives as long as: its parent, the writers of its standard input, and no signal to end.
///
/// A parent that dies closes its pipes. But others may hold them too, so the parent itself is watched, by a pidfd.
/// (PR_SET_PDEATHSIG follows the thread of the parent that started this process, which may end earlier.)
final class Lifeline {
    /// What ended.
    enum End: Equatable {
        /// The lifeline.
        case own
        /// The process that was waited for too.
        case companion
    }

    private static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private let signals: Int32
    private let parent: Int32
    /// Standard input, if it is a pipe or a socket; else -1. A file ends at once, and a terminal has Ctrl-C.
    private let input: Int32
    private var hasEnded = false

    /// Blocks the signals that end a process; they are read from here on.
    init() throws(RingwakeError) {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in Lifeline.ending { sigaddset(&mask, signal) }
        sigprocmask(SIG_BLOCK, &mask, nil)
        signals = ringwake_signalfd(-1, &mask)
        guard signals >= 0 else {
            throw RingwakeError(.system, "signals cannot be watched: \(String(cString: strerror(errno)))")
        }
        let starter = getppid()
        parent = ringwake_pidfd_open(starter)
        // It may have died before it could be watched.
        if parent < 0, errno == ESRCH { hasEnded = true }
        if getppid() != starter { hasEnded = true }
        var status = stat()
        let kind = fstat(STDIN_FILENO, &status) == 0 ? status.st_mode & S_IFMT : 0
        input = kind == S_IFIFO || kind == S_IFSOCK ? STDIN_FILENO : -1
    }

    deinit {
        close(signals)
        if parent >= 0 { close(parent) }
    }

    /// Waits until something ends.
    ///
    /// - Parameters:
    ///   - companion: a pidfd.
    ///   - milliseconds: the longest wait; -1: none.
    /// - Returns: nil after that time.
    func wait(with companion: Int32, milliseconds: Int32) throws(RingwakeError) -> End? {
        while !hasEnded {
            var entries = [signals, parent, input, companion].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let ready = poll(&entries, nfds_t(entries.count), milliseconds)
            if ready == 0 { return nil }
            guard ready > 0 else {
                if errno == EINTR { continue }
                throw RingwakeError(.system, "poll failed: \(String(cString: strerror(errno)))")
            }
            if entries[0].revents != 0 || entries[1].revents != 0 || entries[2].revents != 0 && isInputAtEnd() {
                hasEnded = true
            } else if entries[3].revents != 0 {
                return .companion
            }
        }
        return .own
    }

    /// Reads and drops what is there: only the end counts.
    private func isInputAtEnd() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(input, &buffer, buffer.count)
        return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)
    }
}
