internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// A process that rings or vibrates, the leader of a process group of its own.
///
/// It ends with the daemon, however the daemon ends: its standard input is a pipe that the daemon holds open and
/// never writes to. When the daemon's end closes, the reading end sends SIGIO to the whole group (`F_SETOWN` with
/// `O_ASYNC`, fcntl(2)), which ends every process that doesn't handle it. A program that reads its input waits.
final class AlertProcess {
    /// Time from SIGTERM to SIGKILL.
    static let grace: Duration = .seconds(1)
    /// Bytes of a command's output that its pipe holds, that are read at a time, and of its last line that are kept. A
    /// player that shows its progress may print for as long as a call rings, and must not fail at a full pipe.
    private static let pipeBytes = 1 << 20
    private static let chunkBytes = 1 << 16
    private static let lineBytes = 200

    /// The environment and the limits of every command.
    struct Surroundings {
        /// `NAME=value` each.
        let environment: [String]
        /// Maximum descriptors; nil: as many as the daemon.
        let descriptorLimit: (soft: UInt64, hard: UInt64)?
    }

    /// Why a command was not started.
    struct Failure: Error {
        let reason: String
        /// Whether the next attempt would fail in the same way: no such program, no right to execute it.
        let isPermanent: Bool
    }

    /// The process id, which is the id of its group too.
    let pid: Int32
    /// Weak, because the loop keeps this object until the process has ended.
    private weak var runLoop: RunLoop?
    /// The end of the pipe whose closing ends the group.
    private var lifeline: Int32
    /// The end of the pipe that has what the command prints; -1 after the process has ended.
    private var output: Int32
    /// The last line that the command printed, cut; nil if there is none. Known when it has ended.
    private(set) var lastLine: String?
    private var isRunning = true
    private var isStopping = false
    private var killTimer: Timer?

    /// Starts a command.
    /// - Parameter onExit: called once, when the process has ended; the rest of its group is killed by then.
    static func start(
        _ command: [String], in surroundings: Surroundings, runLoop: RunLoop,
        onExit: @escaping (AlertProcess, ChildExit) -> Void
    ) throws(Failure) -> AlertProcess {
        guard let path = command.first, path.hasPrefix("/"), !command.contains(where: { $0.utf8.contains(0) }) else {
            throw Failure(reason: "the command is no absolute path with its arguments", isPermanent: true)
        }
        var pipe: [Int32] = [-1, -1]
        guard ringwake_pipe(&pipe, 0) == 0 else { throw failure(errno, path) }
        defer { close(pipe[0]) }
        // Nobody reads until the end, so that printing wakes nobody up. What does not fit is lost, instead of waiting.
        var said: [Int32] = [-1, -1]
        guard ringwake_pipe(&said, O_NONBLOCK) == 0 else {
            let error = errno
            close(pipe[1])
            throw failure(error, path)
        }
        defer { close(said[1]) }
        ringwake_enlarge_pipe(said[1], Int32(pipeBytes))
        let pid: pid_t
        do throws(RunLoopError) {
            pid = try runLoop.start(command, variables: surroundings.environment, input: pipe[0], output: said[1])
        } catch {
            close(pipe[1])
            close(said[0])
            throw failure(error.errno, path)
        }
        // The group exists now, and the child has the pipe: from here on it doesn't outlive this process.
        _ = fcntl(pipe[0], F_SETOWN, -pid)
        _ = fcntl(pipe[0], F_SETFL, O_ASYNC)
        if let limit = surroundings.descriptorLimit {
            // It fails if the process has already ended, which is no error.
            _ = ringwake_limit_descriptors(pid, limit.soft, limit.hard)
        }
        let process = AlertProcess(pid: pid, lifeline: pipe[1], output: said[0], runLoop: runLoop)
        try process.follow(onExit)
        return process
    }

    private init(pid: Int32, lifeline: Int32, output: Int32, runLoop: RunLoop) {
        self.pid = pid
        self.lifeline = lifeline
        self.output = output
        self.runLoop = runLoop
    }

    isolated deinit {
        closeLifeline()
        closeOutput()
    }

    /// Ends the process and its group: SIGTERM now, SIGKILL when it still runs after ``grace``. Idempotent.
    func stop() {
        guard isRunning, !isStopping else { return }
        isStopping = true
        ProcessGroup(leader: pid).terminate()
        guard let runLoop else { return }
        let deadline = runLoop.refreshNow().advanced(by: Self.grace)
        killTimer = runLoop.schedule(at: deadline, tolerance: .milliseconds(250)) { [weak self] in
            guard let self, isRunning else { return }
            killTimer = nil
            ProcessGroup(leader: pid).signal(SIGKILL)
        }
    }

    private func follow(_ onExit: @escaping (AlertProcess, ChildExit) -> Void) throws(Failure) {
        guard let runLoop else { return }
        do throws(RunLoopError) {
            // The closures hold this object until the process has ended.
            try runLoop.watchStarted(pid, beforeReaping: { self.leaderEnded() }) { onExit(self, $0) }
        } catch {
            isRunning = false
            throw Failure(reason: "it was started but cannot be watched, and was killed: \(error)", isPermanent: false)
        }
    }

    /// The leader has ended and is not reaped yet: the last moment at which the group's id is surely its own. Kills
    /// the rest of the group, which nobody could stop later.
    private func leaderEnded() {
        ProcessGroup(leader: pid).signal(SIGKILL)
        isRunning = false
        if let killTimer { runLoop?.cancel(killTimer) }
        killTimer = nil
        closeLifeline()
        readLastLine()
        closeOutput()
    }

    private func readLastLine() {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        // As often as a full pipe needs: a process that left the group may still print.
        for _ in 0..<Self.pipeBytes / Self.chunkBytes {
            let count = read(output, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes = bytes.suffix(Self.chunkBytes) + chunk[..<count]
        }
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        lastLine = lines.last.map { String(decoding: $0.prefix(Self.lineBytes), as: UTF8.self) }
    }

    private func closeOutput() {
        if output >= 0 { close(output) }
        output = -1
    }

    private func closeLifeline() {
        if lifeline >= 0 { close(lifeline) }
        lifeline = -1
    }

    private static func failure(_ errno: Int32, _ path: String) -> Failure {
        let isPermanent = ![EAGAIN, ENOMEM, EMFILE, ENFILE].contains(errno)
        return Failure(reason: "cannot execute \(path): \(String(cString: strerror(errno)))", isPermanent: isPermanent)
    }
}
