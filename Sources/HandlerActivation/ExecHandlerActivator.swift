internal import CRingwakeLinux
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Starts programs as handlers: the `exec` way.
///
///     let activator = ExecHandlerActivator(
///         runLoop: loop, logger: logger, runtimeDirectory: "/run/ringwake",
///         baseEnvironment: environment, socketPath: "/run/ringwake/control.sock")
///     let handler = try activator.wake(request, command: ["/usr/bin/phone-handler"], secret: secret, events: events)
///
/// The handler is started by `execve`, without a shell. It leads its own process group; every signal has its default
/// action and none is blocked. Standard input is the request (one JSON object, then the end of file); standard output
/// and standard error go to the daemon's log. None of them is a pipe, so the handler doesn't notice if the daemon dies.
///
/// The daemon's own descriptors must be above 2, because a handler's are put at 0 to 2.
final class ExecHandlerActivator {
    /// Time between two attempts to start a handler while processes end to make room for it, and the most attempts.
    private static let retryInterval: Duration = .milliseconds(10)
    private static let maximumAttempts = 200

    private let runLoop: RunLoop
    private let logger: Logger
    private let environment: HandlerEnvironment
    private let requests: RequestFiles
    private let descriptorLimit: (soft: UInt64, hard: UInt64)?
    private let output: OutputCollector
    private let processes: HandlerProcesses

    /// - Parameters:
    ///   - runtimeDirectory: directory for the files of the handlers' output; an existing tmpfs.
    ///   - baseEnvironment: environment of the handlers. The daemon's own variables are removed (`LISTEN_*`,
    ///     `NOTIFY_SOCKET`, `WATCHDOG_*`, `MAINPID`, `INVOCATION_ID`, `JOURNAL_STREAM`).
    ///   - socketPath: the control socket, passed to the handler in `RINGWAKE_SOCKET`.
    ///   - descriptorLimit: descriptor limit of a handler, if the daemon has raised its own: programs that use
    ///     select(2) rely on a low one. Nil: the daemon's limit.
    init(
        runLoop: RunLoop, logger: Logger, runtimeDirectory: String, baseEnvironment: [String: String],
        socketPath: String, descriptorLimit: (soft: UInt64, hard: UInt64)? = nil, processes: HandlerProcesses
    ) {
        self.runLoop = runLoop
        self.logger = logger
        self.processes = processes
        self.descriptorLimit = descriptorLimit
        requests = RequestFiles(directory: runtimeDirectory)
        environment = HandlerEnvironment(base: baseEnvironment, socketPath: socketPath)
        output = OutputCollector(runLoop: runLoop, directory: runtimeDirectory, logger: logger)
        prepareNextWake()
    }

    /// Starts the handler of a call. Returns when its program runs, or when the kernel has refused a process and
    /// another app's processes end to make room.
    ///
    /// - Parameters:
    ///   - command: the absolute path and the arguments.
    ///   - secret: the secret of this wake, passed in `RINGWAKE_WAKE_SECRET`.
    ///   - events: `started` is called before this returns, unless the kernel has refused a process; then `started` or
    ///     `failed` follow. The loop calls `ended` when the process has ended and its output has been logged.
    /// - Throws: ``RingwakeError/Code/badConfiguration`` if the command can't be executed,
    ///   ``RingwakeError/Code/limitReached`` if no process can be created, ``RingwakeError/Code/invalidRequest`` if the
    ///   call's ID can't be put into an environment, otherwise ``RingwakeError/Code/system``. No process is left then.
    func wake(
        _ request: WakeRequest, command: [String], secret: String, events: HandlerEvents
    ) throws(RingwakeError) -> RunningHandler {
        _ = try HandlerCommand.checkForm(command, of: request.app)
        guard !request.call.rawValue.utf8.contains(0) else {
            throw RingwakeError(
                .invalidRequest,
                "the handler of \(request.app) was not started: the call's id holds a NUL character, which no"
                    + " environment can; let the sender use another id")
        }
        let life = LeaseLife(runLoop: runLoop, events: events)
        let handler = RunningHandler(wake: request.wake, life: life)
        do throws(RingwakeError) {
            try start(handler, request, command: command, secret: secret)
        } catch {
            guard error.code == .limitReached, processes.isMakingRoom else { throw error }
            retry(handler, request, command: command, secret: secret, attempts: Self.maximumAttempts)
        }
        return handler
    }

    private func retry(
        _ handler: RunningHandler, _ request: WakeRequest, command: [String], secret: String, attempts: Int
    ) {
        let deadline = runLoop.refreshNow().advanced(by: Self.retryInterval)
        runLoop.schedule(at: deadline, tolerance: .zero) { [self] in
            guard !handler.life.isStopping else {
                handler.life.ended(.left("was stopped before it was started"))
                return
            }
            do throws(RingwakeError) {
                try start(handler, request, command: command, secret: secret)
            } catch {
                guard error.code == .limitReached, processes.isMakingRoom, attempts > 1 else {
                    handler.life.failed(error)
                    return
                }
                retry(handler, request, command: command, secret: secret, attempts: attempts - 1)
            }
        }
    }

    private func start(
        _ handler: RunningHandler, _ request: WakeRequest, command: [String], secret: String
    ) throws(RingwakeError) {
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
            pid = try runLoop.start(
                command, inherited: environment.pointers, variables: variables, input: input, output: sink)
        } catch {
            if let file { output.abandon(file.watch) }
            throw HandlerCommand.spawnFailure(error.errno, path: command.first ?? "", of: request.app)
        }
        if let descriptorLimit {
            // This fails if the handler has already ended, which is no error.
            _ = ringwake_limit_descriptors(pid, descriptorLimit.soft, descriptorLimit.hard)
        }
        try follow(pid, handler, request, secret: secret, watch: file?.watch)
        handler.life.started(pid: pid)
    }

    /// Prepares in a later turn what the next wake needs.
    private func prepareNextWake() {
        runLoop.enqueue { [requests, output] in
            requests.prepare()
            output.prepare()
        }
    }

    /// Watches the process that was just started.
    private func follow(
        _ pid: pid_t, _ handler: RunningHandler, _ request: WakeRequest, secret: String, watch: Int32?
    ) throws(RingwakeError) {
        let life = handler.life
        handler.started(pid)
        if let watch {
            output.begin(watch, app: request.app.rawValue, call: request.call.rawValue, pid: pid)
        }
        do throws(RunLoopError) {
            try runLoop.watchStarted(pid, beforeReaping: { handler.leaderEnded() }) { [output, processes] exit in
                if let watch { output.handlerEnded(watch) }
                processes.handlerEnded(secret, isChild: true)
                switch exit {
                case .exited(let status): life.ended(.exited(status))
                case .signalled(let signal): life.ended(.signalled(signal))
                }
            }
            processes.handlerStarted(secret, app: request.app) { [weak handler] in handler?.kill() }
        } catch {
            if let watch { output.abandon(watch) }
            throw RingwakeError(
                .system,
                "the handler of \(request.app) was started but cannot be watched, and was killed: \(error); raise"
                    + " LimitNOFILE= of the service")
        }
    }
}
