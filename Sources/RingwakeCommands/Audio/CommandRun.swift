import CRingwakeLinux
import Glibc
import RingwakeCore

/// A command that runs in the place of this one: same terminal, same environment, same descriptors; signals are passed
/// on, and its end is this program's.
struct CommandRun {
    private let command: [String]
    private let session: AudioHold?
    private let reporter: AudioReporter

    /// What a terminal sends to the whole process group at once reaches the command without us; what somebody sends to
    /// this process alone is meant for the command.
    private static let passedOn = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]

    /// As `env` and shells have it.
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
    /// - Throws: `system`: it cannot be watched.
    func wait() throws(RingwakeError) -> ExitStatus {
        var former = sigset_t()
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in CommandRun.passedOn { sigaddset(&mask, signal) }
        // Blocked before the command is there: none is lost in between.
        sigprocmask(SIG_BLOCK, &mask, &former)
        defer { sigprocmask(SIG_SETMASK, &former, nil) }
        let signals = ringwake_signalfd(-1, &mask)
        guard signals >= 0 else { throw failed("signals cannot be watched", errno) }
        defer { close(signals) }
        // Before the session ends: others are not to go on while it still plays.
        defer { session?.end() }

        var process: pid_t = 0
        let failure = start(&process)
        guard failure == 0 else {
            reporter.report("'\(command[0])' cannot be run: \(String(cString: strerror(failure)))")
            return failure == ENOENT ? CommandRun.notFound : CommandRun.notExecutable
        }
        let pidfd = ringwake_pidfd_open(process)
        guard pidfd >= 0 else {
            // Nobody would see its end otherwise, but a wait that is deaf to signals.
            reporter.report("signals cannot be forwarded: \(String(cString: strerror(errno)))")
            return reap(process)
        }
        defer { close(pidfd) }
        while try !hasEnded(pidfd, signals, process) {}
        return reap(process)
    }

    /// Waits for something to happen and sees to it; true when the command has ended.
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
            // One that the kernel sent comes from the terminal, and the command has it too; but that the terminal is gone
            // only the leader of its session is told.
            let isForUsAlone = signal.ssi_signo == UInt32(SIGHUP) && getsid(0) == getpid()
            if signal.ssi_code <= 0 || isForUsAlone { kill(process, Int32(signal.ssi_signo)) }
        }
    }

    private func reap(_ process: pid_t) -> ExitStatus {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            // Something else has reaped it: this program was started with children ignored.
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
        // This program ignores SIGPIPE, to see that a reader has left.
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
