import CRingwakeLinux
import Glibc
import RingwakeCore

/// Runs a command in the foreground, with the same terminal, environment and descriptors. Forwards signals to it, and
/// exits with its status.
struct CommandRun {
    private let command: [String]
    private let session: AudioHold?
    private let reporter: AudioReporter

    /// Signals to forward to the command. A signal from the terminal reaches the whole process group, so only signals
    /// to this process alone are forwarded.
    private static let passedOn = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]

    /// The exit statuses that `env` and shells use.
    private static let notFound = ExitStatus(code: 127)
    private static let notExecutable = ExitStatus(code: 126)

    init(_ command: [String], _ session: AudioHold?, _ reporter: AudioReporter) {
        self.command = command
        self.session = session
        self.reporter = reporter
    }

    /// Runs the command to its end.
    ///
    /// - Returns: its exit status; 128 and the number of the signal that ended it.
    /// - Throws: `system`: the command can't be watched.
    func wait() throws(RingwakeError) -> ExitStatus {
        var former = sigset_t()
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in CommandRun.passedOn { sigaddset(&mask, signal) }
        // Block them before the command starts, so that none is lost.
        sigprocmask(SIG_BLOCK, &mask, &former)
        defer { sigprocmask(SIG_SETMASK, &former, nil) }
        let signals = ringwake_signalfd(-1, &mask)
        guard signals >= 0 else { throw failed("signals cannot be watched", errno) }
        defer { close(signals) }
        // End the session only after the command: other programs must not resume while it still plays.
        defer { session?.end() }

        var process: pid_t = 0
        let failure = start(&process)
        guard failure == 0 else {
            reporter.report("'\(command[0])' cannot be run: \(String(cString: strerror(failure)))")
            return failure == ENOENT ? CommandRun.notFound : CommandRun.notExecutable
        }
        let pidfd = ringwake_pidfd_open(process)
        guard pidfd >= 0 else {
            // Without a pidfd, wait for the command without forwarding signals.
            reporter.report("signals cannot be forwarded: \(String(cString: strerror(errno)))")
            return reap(process)
        }
        defer { close(pidfd) }
        while try !hasEnded(pidfd, signals, process) {}
        return reap(process)
    }

    /// Waits for an event and handles it. True if the command has ended.
    private func hasEnded(_ pidfd: Int32, _ signals: Int32, _ process: pid_t) throws(RingwakeError) -> Bool {
        var entries = [
            pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        ]
        if let session, session.isOpen {
            entries.append(pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0))
        }
        guard poll(&entries, nfds_t(entries.count), -1) >= 0 else {
            guard errno == EINTR else { throw failed("the command cannot be waited for", errno) }
            return false
        }
        if entries[0].revents != 0 { return true }
        if entries[1].revents != 0 { passOn(signals, to: process) }
        if entries.count > 2, entries[2].revents != 0 { session?.read() }
        return false
    }

    private func passOn(_ signals: Int32, to process: pid_t) {
        var signal = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while read(signals, &signal, size) == size {
            // A positive code means that the kernel sent it, for the terminal, and to the command too. But the kernel
            // sends the SIGHUP for a lost terminal only to the session leader.
            let isForUsAlone = signal.ssi_signo == UInt32(SIGHUP) && getsid(0) == getpid()
            if signal.ssi_code <= 0 || isForUsAlone { kill(process, Int32(signal.ssi_signo)) }
        }
    }

    private func reap(_ process: pid_t) -> ExitStatus {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            // Reaped already: this program was started with SIGCHLD ignored.
            guard errno == EINTR else { return ExitStatus(code: 1) }
        }
        let signal = status & 0x7f
        return ExitStatus(code: signal == 0 ? (status >> 8) & 0xff : 128 + signal)
    }

    /// Starts the command in this process group, with no signal blocked, and SIGPIPE at its default again.
    ///
    /// - Returns: 0, or an errno.
    private func start(_ process: inout pid_t) -> Int32 {
        var attributes = posix_spawnattr_t()
        let failure = posix_spawnattr_init(&attributes)
        guard failure == 0 else { return failure }
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        // This program ignores SIGPIPE; the command must not inherit that.
        var broken = none
        sigaddset(&broken, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &broken)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // One buffer for all words; the pointers into it live as long as the call.
        var bytes: [CChar] = []
        var starts: [Int] = []
        for word in command {
            starts.append(bytes.count)
            bytes += word.utf8CString
        }
        return bytes.withUnsafeMutableBufferPointer { buffer in
            let words = starts.map { buffer.baseAddress?.advanced(by: $0) } + [nil]
            guard let program = words[0] else { return EINVAL }
            return posix_spawnp(&process, program, nil, &attributes, words, ringwake_environment())
        }
    }

    private func failed(_ what: String, _ error: Int32) -> RingwakeError {
        RingwakeError(.system, "\(what): \(String(cString: strerror(error)))")
    }
}
