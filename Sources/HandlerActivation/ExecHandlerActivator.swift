internal import CRingwakeLinux
internal import Glibc
package import Logging
package import RingwakeCore
package import RunLoop

/// Wakes an app by starting a program: the `exec` way.
///
///     let activator = ExecHandlerActivator(
///         runLoop: loop, logger: logger, runtimeDirectory: "/run/ringwake",
///         baseEnvironment: environment, socketPath: "/run/ringwake/control.sock")
///     let handler = try activator.wake(request, command: ["/usr/bin/phone-handler"], secret: secret, events: events)
///
/// The handler is started by `execve`, without a shell, as the leader of a process group of its own, with every signal
/// at its default and none blocked, and with three descriptors: the request on standard input (one JSON object and the
/// end), and the daemon's log behind the two others. Neither is a pipe, so it never notices the daemon's death.
///
/// The daemon's own descriptors must lie above 2, for 0 to 2 are where a handler's are put.
package final class ExecHandlerActivator {
    private let runLoop: RunLoop
    private let logger: Logger
    private let environment: HandlerEnvironment
    private let requests = RequestFiles()
    private let descriptorLimit: (soft: UInt64, hard: UInt64)?
    private let output: OutputCollector

    /// - Parameters:
    ///   - runtimeDirectory: Where the files for the handlers' output are made; a tmpfs, and there already.
    ///   - baseEnvironment: What handlers inherit, less what belongs to the daemon (`LISTEN_*`, `NOTIFY_SOCKET`,
    ///     `WATCHDOG_*`, `MAINPID`, `INVOCATION_ID`, `JOURNAL_STREAM`).
    ///   - socketPath: The control socket, `RINGWAKE_SOCKET` to the handler.
    ///   - descriptorLimit: How many descriptors a handler may have, where the daemon raised its own limit: programs
    ///     that use select(2) rely on a low one. Nil: as many as the daemon.
    package init(
        runLoop: RunLoop, logger: Logger, runtimeDirectory: String, baseEnvironment: [String: String],
        socketPath: String, descriptorLimit: (soft: UInt64, hard: UInt64)? = nil
    ) {
        self.runLoop = runLoop
        self.logger = logger
        self.descriptorLimit = descriptorLimit
        environment = HandlerEnvironment(base: baseEnvironment, socketPath: socketPath)
        output = OutputCollector(runLoop: runLoop, directory: runtimeDirectory, logger: logger)
        prepareNextWake()
    }

    /// Starts the handler for a call, and returns when its program runs.
    ///
    /// - Parameters:
    ///   - command: An absolute path and the arguments.
    ///   - secret: The secret of this wake, `RINGWAKE_WAKE_SECRET` to the handler.
    ///   - events: `started` is called before this returns, `ended` by the run loop when the process has ended and its
    ///     output is logged, `failed` never.
    /// - Throws: ``RingwakeError/Code/badConfiguration`` when the command cannot be executed,
    ///   ``RingwakeError/Code/limitReached`` when no process can be had, ``RingwakeError/Code/invalidRequest`` when the
    ///   call's id does not fit into an environment, ``RingwakeError/Code/system`` else. No process is left then.
    package func wake(
        _ request: WakeRequest, command: [String], secret: String, events: HandlerEvents
    ) throws(RingwakeError) -> RunningHandler {
        let path = try HandlerCommand.checkForm(command, of: request.app)
        guard !request.call.rawValue.utf8.contains(0) else {
            throw RingwakeError(
                .invalidRequest,
                "the handler of \(request.app) was not started: the call's id holds a NUL character, which no"
                    + " environment can; let the sender use another id")
        }
        let input = try requests.open(request)
        defer { close(input) }
        let file = output.makeFile()
        let sink = file?.descriptor ?? ringwake_open("/dev/null", O_WRONLY, 0)
        defer { if sink >= 0 { close(sink) } }

        let variables = [
            "\(HandlerEnvironment.app)=\(request.app.rawValue)", "\(HandlerEnvironment.call)=\(request.call.rawValue)",
            "\(HandlerEnvironment.secret)=\(secret)",
        ]
        let pid: pid_t
        do throws(RunLoopError) {
            defer { prepareNextWake() }
            pid = try RunLoop.start(
                command, inherited: environment.pointers, variables: variables, input: input, output: sink)
        } catch {
            if let file { output.abandon(file.watch) }
            throw HandlerCommand.spawnFailure(error.errno, path: path, of: request.app)
        }
        if let descriptorLimit {
            // It fails when the handler has ended already, and is no reason to end it.
            _ = ringwake_limit_descriptors(pid, descriptorLimit.soft, descriptorLimit.hard)
        }
        // The kernel goes on with the parent when both share a processor, and the handler would wait for all that the
        // daemon still has to do: it is somebody's phone that is to ring.
        sched_yield()
        let life = LeaseLife(runLoop: runLoop, events: events)
        let handler = try follow(pid, request, watch: file?.watch, life)
        life.started(pid: pid)
        return handler
    }

    /// Does now what the next wake would else wait for.
    private func prepareNextWake() {
        runLoop.enqueue { [requests, output] in
            requests.prepare()
            output.prepare()
        }
    }

    /// Watches the process that has just been started.
    private func follow(
        _ pid: pid_t, _ request: WakeRequest, watch: Int32?, _ life: LeaseLife
    ) throws(RingwakeError) -> RunningHandler {
        let handler = RunningHandler(leader: pid, wake: request.wake, life: life)
        if let watch {
            output.begin(watch, app: request.app.rawValue, call: request.call.rawValue, pid: pid)
        }
        do throws(RunLoopError) {
            try runLoop.watchStarted(pid, beforeReaping: { handler.leaderEnded() }) { [output] exit in
                if let watch { output.handlerEnded(watch) }
                switch exit {
                case .exited(let status): life.ended(.exited(status))
                case .signalled(let signal): life.ended(.signalled(signal))
                }
            }
            return handler
        } catch {
            if let watch { output.abandon(watch) }
            throw RingwakeError(
                .system,
                "the handler of \(request.app) was started but cannot be watched, and was killed: \(error); raise"
                    + " LimitNOFILE= of the service")
        }
    }
}
