internal import CRingwakeLinux
internal import ControlProtocol
internal import Cryptography
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// The composition root: makes each part, joins them, and takes them down in order.
///
///     sender -> HTTP2TLSListener -> PushGateway -> EffectRunner(CoordinatorStateMachine) -> HandlerProcesses
///                                                    |  ^  ^                                     |
///                                     PushJournal <--+  |  +<-------------- events --------------+
///                                                       |
///     CLI, handlers -> UnixHTTPListener -> ControlServer +
final class Daemon {
    private(set) var configuration: Configuration
    private let defaults: StandardPaths
    private let logger: Logger
    let runLoop: RunLoop
    private let lock: FileLock
    private let tokens: TokenStore
    private let journal: PushJournal
    let runner: EffectRunner
    let events = EventStreams()
    let network: NetworkWatch
    private let queries: NetworkQueries
    private let descriptors = DescriptorLimit.raise()
    let startedAt = BootClock.now()

    private(set) lazy var gateway = makeGateway()
    private lazy var control = ControlServer(
        daemon: self, runner: runner, events: events, journal: JournalReader(journal: journal, runLoop: runLoop),
        network: network, queries: queries)
    private(set) var credentials: Credentials
    private(set) var listeners: [(listener: HTTP2TLSListener, environment: PushEnvironment)] = []
    private let judge: ClockJudge
    private var controlListener: UnixHTTPListener?
    private var isStopping = false

    /// How often the lock is tried, and the microseconds in between: two seconds in all.
    private static let lockAttempts = 100
    private static let lockPause: UInt32 = 20_000

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
        journal = try PushJournal(
            directory: configuration.stateDirectory, runLoop: runLoop, logger: logger, limits: configuration.journal,
            clocks: try Daemon.clocks())
        runner = EffectRunner(
            configuration: configuration, runLoop: runLoop, journal: journal,
            handlers: HandlerProcesses(activator: activator, exitPatience: .seconds(30)), events: events,
            logger: logger)
        network = NetworkWatch(runLoop: runLoop, configuration: configuration, logger: logger)
        queries = NetworkQueries(network: network, runLoop: runLoop)
        let contents = journal.takeContents()
        judge = ClockJudge(newestArrival: contents.newestWallClock)
        do throws(RingwakeError) {
            try registerApps(configuration)
            try listen()
            try watchSignals()
        } catch {
            network.close()
            journal.close()
            throw error
        }
        tellOfNetwork()
        // Their handlers speak to the control socket, which is there now.
        runner.recover(contents)
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
        network.close()
        journal.close()
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

    /// A daemon that was killed while it started a handler holds the lock, and its sockets, until that child has come
    /// to execute its program; so the lock is tried for a while.
    private static func lock(_ directory: String) throws(RingwakeError) -> FileLock {
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try FileLock(path: directory + "/lock")
            } catch {
                guard error.errno == EWOULDBLOCK else {
                    throw RingwakeError(
                        .system, "\(error.description); the state directory has to be writable for this user")
                }
                guard attempts < lockAttempts else {
                    throw RingwakeError(
                        .inUse,
                        "another ringwaked uses the state directory \(directory); stop it, or set state_directory")
                }
            }
            // The loop does not run yet: nobody waits but the one who starts the daemon.
            usleep(lockPause)
        }
    }

    private static func clocks() throws(RingwakeError) -> JournalClocks {
        let path = "/proc/sys/kernel/random/boot_id"
        do {
            let text = String(decoding: try FileSystem.read(path, maximumSize: 64), as: UTF8.self)
            return JournalClocks(
                wall: { unixMilliseconds() }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) },
                bootID: text.filter { !$0.isWhitespace }, trust: { wallClockTrust() })
        } catch {
            throw RingwakeError(
                .system, "\(error.description); ringwaked tells one boot from another by it: mount /proc")
        }
    }

    private func makeGateway() -> PushGateway {
        PushGateway(
            configuration: credentials.gateway, tokens: tokens, wallClock: { unixMilliseconds() }, logger: logger,
            earliestTime: { [judge] in judge.earliestTime() },
            isConfigured: { [runner] app in runner.apps[app] != nil },
            deliver: { [runner, judge] push, answer in
                judge.noteArrival()
                runner.receive(push, answer: answer)
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
        queries.finish()
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
        network.reconfigure(new)
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
                tokens: Dictionary(tokens) { first, _ in first }, file: app.file,
                connection: network.message(of: app.id))
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
        network.reconfigure(configuration)
        logger.notice("app removed, its tokens are unregistered", metadata: ["app": "\(id)"])
        return AppMessage(
            app: id.rawValue, topic: Topic.voip(of: id).rawValue, exec: app.exec, state: "unregistered", tokens: [:],
            file: app.file)
    }
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
        if new.journal != journal { names.append("journal") }
        return names
    }

    /// Takes over what a running daemon can change; the rest stays what it is until a restart.
    fileprivate mutating func adopt(_ new: Configuration) {
        server = new.server
        teams = new.teams
        deadlines = new.deadlines
        reachability = new.reachability
        apps = new.apps
    }
}
