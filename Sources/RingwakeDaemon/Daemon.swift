internal import CRingwakeLinux
internal import ControlProtocol
internal import Cryptography
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// The composition root: makes each part, joins them, and takes them down in order.
///
///     sender -> HTTP2TLSListener -> PushGateway -> EffectRunner(CoordinatorStateMachine) -> ExecHandlerActivator
///                                                       ^                                        |
///     CLI, handlers -> UnixHTTPListener -> ControlServer +<--------------- events ---------------+
final class Daemon {
    private var configuration: Configuration
    private let defaults: StandardPaths
    private let logger: Logger
    private let runLoop: RunLoop
    private let lock: FileLock
    private let tokens: TokenStore
    private let runner: EffectRunner
    private let events = EventStreams()
    private let descriptors = DescriptorLimit.raise()
    private let startedAt = BootClock.now()

    private lazy var gateway = makeGateway()
    private lazy var control = ControlServer(daemon: self, runner: runner, events: events)
    private var credentials: Credentials
    private var listeners: [(listener: HTTP2TLSListener, environment: PushEnvironment)] = []
    private var controlListener: UnixHTTPListener?
    private var isStopping = false

    /// Opens the store, takes the control socket and the ports, and is ready to take pushes.
    ///
    /// Throws with what is wrong and what to do; nothing is left behind then.
    init(_ configuration: Configuration, defaults: StandardPaths, logger: Logger) throws(RingwakeError) {
        self.configuration = configuration
        self.defaults = defaults
        self.logger = logger
        credentials = try Credentials(configuration)
        try Daemon.makeDirectories(configuration)
        lock = try Daemon.lock(configuration.stateDirectory)
        tokens = try TokenStore(directory: configuration.stateDirectory)
        do throws(RunLoopError) {
            runLoop = try RunLoop()
        } catch {
            throw RingwakeError(.system, "the run loop cannot be set up: \(error)")
        }
        let activator = ExecHandlerActivator(
            runLoop: runLoop, logger: logger, runtimeDirectory: configuration.runtimeDirectory,
            baseEnvironment: processEnvironment(), socketPath: configuration.controlSocket,
            descriptorLimit: (UInt64(descriptors.original.rlim_cur), UInt64(descriptors.original.rlim_max)))
        runner = EffectRunner(
            configuration: configuration, runLoop: runLoop, activator: activator, events: events, logger: logger)
        try registerApps(configuration)
        try listen()
        try watchSignals()
    }

    /// Serves until a signal ends it.
    func run() {
        logger.notice(
            "ringwaked is ready",
            metadata: [
                "version": "\(ProductVersion.current)", "control": "\(configuration.controlSocket)",
                "listeners": "\(listeners.map(\.listener.localAddress.description).joined(separator: ","))",
                "apps": "\(configuration.apps.count)",
            ])
        runLoop.run()
        logger.notice("ringwaked has stopped", metadata: ["active-calls": "\(runner.coordinator.active.count)"])
    }

    // MARK: - Set-up

    private static func makeDirectories(_ configuration: Configuration) throws(RingwakeError) {
        for (path, mode, key) in [
            (configuration.stateDirectory, UInt32(0o700), "state_directory"),
            (configuration.runtimeDirectory, UInt32(0o755), "runtime_directory"),
        ] {
            let isOpenToOthers: Bool
            do {
                try FileSystem.createDirectory(path, mode: mode)
                isOpenToOthers = try FileSystem.isWritableByOthers(directory: path)
            } catch {
                throw RingwakeError(
                    .system, "\(error.description); ringwaked needs it: create it, or set \(key) to another")
            }
            // They could put a control socket of their own there, and be told every wake secret.
            guard !isOpenToOthers else {
                throw RingwakeError(
                    .system,
                    "other users may write to \(path); chown it to this user and run chmod go-w \(path), "
                        + "or set \(key) to another")
            }
        }
    }

    private static func lock(_ directory: String) throws(RingwakeError) -> FileLock {
        do {
            return try FileLock(path: directory + "/lock")
        } catch {
            guard error.errno == EWOULDBLOCK else {
                throw RingwakeError(
                    .system, "\(error.description); the state directory has to be writable for this user")
            }
            throw RingwakeError(
                .inUse, "another ringwaked uses the state directory \(directory); stop it, or set state_directory")
        }
    }

    private func makeGateway() -> PushGateway {
        PushGateway(
            configuration: credentials.gateway, tokens: tokens, wallClock: { unixMilliseconds() }, logger: logger,
            isConfigured: { [runner] app in runner.apps[app] != nil },
            deliver: { [runner] push, answer in
                switch runner.submit(.pushReceived(push)) {
                case nil: answer(.accepted)
                case .tooManyCalls: answer(.refused(.tooManyRequests))
                case .unknownCall, .wrongState: answer(.refused(.internalServerError))
                }
            })
    }

    /// Sees to it that each app has a token for each environment that is listened for.
    private func registerApps(_ configuration: Configuration) throws(RingwakeError) {
        let environments = Set(configuration.listeners.map(\.environment))
        for app in configuration.apps.keys {
            _ = try tokens.register(
                app: app, topic: .voip(of: app), environments: Array(environments), at: unixMilliseconds())
        }
    }

    private func listen() throws(RingwakeError) {
        do {
            controlListener = try UnixHTTPListener(
                runLoop: runLoop, path: configuration.controlSocket, mode: 0o666, limits: .control, logger: logger
            ) { [control] peer in control.makeConnectionHandler(peer: peer) }
            try listenForPushes()
        } catch {
            controlListener?.close()
            for (listener, _) in listeners {
                listener.closeNow()
            }
            throw error
        }
    }

    private func listenForPushes() throws(RingwakeError) {
        guard let tls = credentials.tls else { return }
        var limits = ConnectionLimits()
        limits.maximumConnections = min(
            limits.maximumConnections, descriptors.connections(forEachOf: configuration.listeners.count))
        limits.maximumBodyBytes = PushGateway.maximumPayloadBytes
        let budget = BufferBudget()
        for listener in configuration.listeners {
            let environment = listener.environment
            listeners.append(
                (
                    try HTTP2TLSListener(
                        runLoop: runLoop, address: listener.address, tls: tls, limits: limits, budget: budget,
                        logger: logger
                    ) { [gateway] peer in gateway.makeConnectionHandler(peer: peer, environment: environment) },
                    environment
                ))
        }
    }

    private func watchSignals() throws(RingwakeError) {
        // A peer that closes its socket must not end the daemon: writes report it.
        ringwake_ignore_signal(SIGPIPE)
        do {
            try runLoop.onSignal(SIGTERM) { [weak self] in self?.stop("SIGTERM") }
            try runLoop.onSignal(SIGINT) { [weak self] in self?.stop("SIGINT") }
            try runLoop.onSignal(SIGHUP) { [weak self] in self?.reloadOnSignal() }
        } catch {
            throw RingwakeError(.system, "signals cannot be watched: \(error)")
        }
    }

    // MARK: - Stopping

    /// Stops taking pushes, answers what is under way, and ends the loop; a second signal ends it at once.
    private func stop(_ signal: String) {
        guard !isStopping else { return runLoop.stop() }
        isStopping = true
        logger.notice("ringwaked is stopping", metadata: ["signal": "\(signal)"])
        gateway.beginShutdown()
        events.finish()
        var draining = listeners.count + 1
        let oneIsDrained = { [runLoop] in
            draining -= 1
            if draining == 0 {
                runLoop.stop()
            }
        }
        for (listener, _) in listeners {
            listener.drain(whenDrained: oneIsDrained)
        }
        controlListener?.drain(whenDrained: oneIsDrained)
    }

    // MARK: - What the control API asks for

    private func reloadOnSignal() {
        do throws(RingwakeError) {
            _ = try reload()
        } catch {
            logger.error(
                "reload failed, the old configuration stays in force",
                metadata: ["error": "\(error.code.slug)", "why": "\(error.message)"])
        }
    }

    func reload() throws(RingwakeError) -> ReloadMessage {
        let new = try Configuration.load(file: configuration.file, defaults: defaults)
        let newCredentials = try Credentials(new)
        try registerApps(new)
        let needsRestart = configuration.settingsThatNeedRestart(toBecome: new)
        if let tls = newCredentials.tls {
            for (listener, _) in listeners {
                listener.replaceTLS(tls)
            }
        }
        gateway.reconfigure(newCredentials.gateway)
        runner.reconfigure(new)
        credentials = newCredentials
        configuration.adopt(new)
        logger.notice(
            "configuration reloaded",
            metadata: ["apps": "\(new.apps.count)", "needs-restart": "\(needsRestart.joined(separator: ","))"])
        events.publish(EventMessage(event: "reload"), of: nil)
        return ReloadMessage(apps: new.apps.keys.map(\.rawValue).sorted(), needsRestart: needsRestart)
    }

    func apps() -> [AppMessage] {
        configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }.map { app in
            let tokens = tokens.tokens(of: app.id).map { ($0.key.rawValue, $0.value.hex) }
            return AppMessage(
                app: app.id.rawValue, topic: Topic.voip(of: app.id).rawValue, exec: app.exec, state: "registered",
                tokens: Dictionary(tokens) { first, _ in first }, file: app.file)
        }
    }

    func removeApp(_ id: AppID) throws(RingwakeError) -> AppMessage {
        guard let app = configuration.apps[id] else {
            throw RingwakeError(.notFound, "no app '\(id)' is configured")
        }
        if FileSystem.exists(app.file) {
            do {
                try FileSystem.remove(app.file)
            } catch {
                throw RingwakeError(
                    .system, "\(error.description); remove the file, then ask again: until then \(id) stays")
            }
        }
        try tokens.unregister(app: id, at: unixMilliseconds())
        configuration.apps[id] = nil
        runner.apps[id] = nil
        logger.notice("app removed, its tokens are unregistered", metadata: ["app": "\(id)"])
        return AppMessage(
            app: id.rawValue, topic: Topic.voip(of: id).rawValue, exec: app.exec, state: "unregistered", tokens: [:],
            file: app.file)
    }

    func status() -> StatusMessage {
        let statistics = runLoop.statistics
        return StatusMessage(
            version: ProductVersion.current, pid: getpid(),
            uptimeMs: startedAt.duration(to: BootClock.now()).milliseconds, configuration: configuration.file,
            appsDirectory: configuration.appsDirectory, stateDirectory: configuration.stateDirectory,
            controlSocket: configuration.controlSocket,
            listeners: listeners.map { listener, environment in
                StatusMessage.Listener(
                    address: listener.localAddress.description, environment: environment.rawValue,
                    connections: listener.connectionCount)
            },
            serverCertificate: serverCertificate(), apps: configuration.apps.count,
            activeCalls: runner.coordinator.active.count,
            pushes: StatusMessage.Pushes(
                accepted: gateway.counters.accepted,
                refused: Dictionary(gateway.counters.refused.map { ($0.key.rawValue, $0.value) }) { $0 + $1 }),
            wakeups: StatusMessage.Wakeups(
                total: statistics.total,
                byCause: Dictionary(statistics.byCause.map { ($0.key.name, $0.value) }) { $0 + $1 }))
    }

    private func serverCertificate() -> StatusMessage.ServerCertificate? {
        guard let server = configuration.server, let certificate = credentials.tls?.certificate else { return nil }
        return StatusMessage.ServerCertificate(
            file: server.certificateFile, subject: certificate.subjectCommonName ?? "", notAfter: certificate.notAfter,
            daysLeft: wholeDays(from: unixMilliseconds() / 1000, to: certificate.notAfter))
    }
}

/// Whole days between two times in seconds, rounded down, so that an hour after the end is -1.
private func wholeDays(from: Int64, to: Int64) -> Int64 {
    let secondsOfADay: Int64 = 86_400
    let seconds = to - from
    return seconds >= 0 ? seconds / secondsOfADay : (seconds - secondsOfADay + 1) / secondsOfADay
}

extension Configuration {
    /// The settings that differ in `new` and that a running daemon cannot change.
    fileprivate func settingsThatNeedRestart(toBecome new: Configuration) -> [String] {
        var names: [String] = []
        if new.stateDirectory != stateDirectory { names.append("state_directory") }
        if new.runtimeDirectory != runtimeDirectory { names.append("runtime_directory") }
        if new.listeners != listeners { names.append("listener") }
        if (new.server == nil) != (server == nil) { names.append("server") }
        if new.logLevel != logLevel { names.append("log.level") }
        return names
    }

    /// Takes over what a running daemon can change; the rest stays what it is until a restart.
    fileprivate mutating func adopt(_ new: Configuration) {
        server = new.server
        teams = new.teams
        deadlines = new.deadlines
        apps = new.apps
    }
}
