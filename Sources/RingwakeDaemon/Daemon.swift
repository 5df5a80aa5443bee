internal import CallService
internal import DaemonConfiguration
internal import CRingwakeLinux
internal import ControlProtocol
internal import Cryptography
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import HTTPServer
internal import HandlerActivation
internal import LinkTransport
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// The composition root: creates and connects the parts, and closes them in order.
///
///     sender -> HTTP2TLSListener -> PushGateway -> CallDriver(CallServiceStateMachine) -> HandlerActivator
///                                                   | |  ^  ^                                     |
///              PushJournal, Restoration, CallerLists <-+ |  |  +<-------------- events -------------+
///                                          CallDevice <-+  |
///     CLI, handlers -> UnixHTTPListener -> ControlServer --+
///
/// ``Listeners`` has the sockets; systemd may have opened them.
final class Daemon {
    /// A reload or the removal of an app replaces the whole configuration. The call driver then applies it.
    var configuration: Configuration { didSet { calls.reconfigure(configuration) } }
    let defaults: StandardPaths
    let logger: Logger
    let runLoop: RunLoop
    private let lock: FileLock
    let tokens: TokenStore
    let identity: IdentityService
    let journal: PushJournal
    let calls: CallDriver
    let network: NetworkWatch
    let restoration: Restoration
    let device: CallDevice
    let audio: AudioService
    let callerLists: CallerLists
    let buses: Buses
    let protection: ProtectionService
    private let protectedData: ProtectedData
    /// The links of devices to this gateway; nil if it is none, or while the store can't be opened.
    var links: GatewayLinks?
    /// This device's link to its gateway; nil if the daemon is a gateway only.
    var outbound: OutboundLink?
    private let queries: NetworkQueries
    let descriptors = DescriptorLimit.raise()
    let startedAt = BootClock.now()

    private(set) lazy var gateway = makeGateway()
    private(set) lazy var receipts = PushReceipts(daemon: self)
    private(set) lazy var webhooks = Webhooks(receipts: receipts, runLoop: runLoop, logger: logger)
    private(set) lazy var localReceipts = LocalReceipts(daemon: self)
    /// The ports for pushes.
    var pushPorts: [UInt16] { listeners?.providers.open.map(\.listener.localAddress.port) ?? [] }
    private(set) lazy var control = ControlServer(
        daemon: self, calls: calls, network: network, queries: queries, audio: audio)
    var credentials: Credentials
    var lastReload: LastReload?
    /// Set at the end of the setup.
    private(set) var listeners: Listeners?
    let passed: PassedSockets
    /// What the kernel offers.
    let facilities: [FacilityMessage]
    /// Why the device cannot ring as configured, at the start or the last reload.
    var ringProblems: [String] = []
    let service: ServiceReporter
    let judge: ClockJudge
    private var isStopping = false
    /// Whether the daemon starts again when it has stopped.
    private(set) var restarts = false

    /// Opens the store, the control socket and the ports. After that the daemon can accept pushes.
    ///
    /// - Parameters:
    ///   - passed: the sockets that systemd has opened.
    ///   - facilities: what the kernel offers.
    /// - Throws: what is wrong and what to do. Nothing stays open then.
    init(
        _ configuration: Configuration, defaults: StandardPaths, passed: PassedSockets,
        facilities: [FacilityMessage], logger: Logger
    ) throws(RingwakeError) {
        var configuration = configuration
        configuration.checkNames()
        credentials = try Credentials(&configuration)
        self.configuration = configuration
        self.facilities = facilities
        self.defaults = defaults
        self.passed = passed
        self.logger = logger
        try passed.check(configuration)
        if let former = defaults.formerStateDirectory, configuration.stateDirectory == defaults.stateDirectory {
            try FormerState(former: former, current: configuration.stateDirectory).move(logger)
        }
        try Daemon.makeDirectories(configuration)
        lock = try Daemon.lock(configuration.stateDirectory)
        try Daemon.finishRestore(configuration, logger)
        tokens = try TokenStore(directory: configuration.stateDirectory)
        identity = try IdentityService(directory: configuration.stateDirectory, tokens: tokens, logger: logger)
        do throws(RunLoopError) {
            runLoop = try RunLoop()
            try runLoop.adoptOrphans()
        } catch {
            throw RingwakeError(.system, "the run loop cannot be set up: \(error)")
        }
        service = ServiceReporter(runLoop: runLoop, logger: logger)
        buses = Buses(runLoop: runLoop, logger: logger, environment: processEnvironment())
        let original = (UInt64(descriptors.original.rlim_cur), UInt64(descriptors.original.rlim_max))
        let activator = HandlerActivator(
            runLoop: runLoop, logger: logger, runtimeDirectory: configuration.runtimeDirectory,
            baseEnvironment: processEnvironment(), socketPath: configuration.controlSocket,
            descriptorLimit: original, systemBus: buses.system, sessionBus: buses.session)
        let clocks = try Daemon.clocks()
        protection = Daemon.makeProtection(configuration, clocks, runLoop: runLoop, buses: buses, logger: logger)
        journal = try PushJournal(
            directory: configuration.stateDirectory, runLoop: runLoop, logger: logger, limits: configuration.journal,
            clocks: clocks, keys: protection.distribution.ring)
        callerLists = CallerLists(
            journal: journal, dialling: configuration.restrictions.dialling, keys: protection.distribution.ring,
            stateDirectory: configuration.stateDirectory, logger: logger)
        restoration = Restoration(journal: journal, excluded: Set(configuration.notRestored), logger: logger)
        calls = CallDriver(
            configuration: configuration, runLoop: runLoop, journal: journal, activator: activator,
            callers: callerLists, restoration: restoration, logger: logger)
        device = CallDevice(
            configuration, calls: calls, runLoop: runLoop, buses: buses, descriptorLimit: original, logger: logger)
        audio = AudioService(
            configuration, calls: calls, runLoop: runLoop, systemBus: buses.system, logger: logger)
        network = NetworkWatch(runLoop: runLoop, configuration: configuration, logger: logger)
        queries = NetworkQueries(network: network, runLoop: runLoop)
        judge = ClockJudge(journal: journal, logger: logger)
        protectedData = ProtectedData(
            protection, journal: journal, calls: calls, lists: callerLists, restoration: restoration)
        do throws(RingwakeError) {
            try registerAppsIfPossible()
            try watchSignals()
            listeners = try listen()
        } catch {
            network.close()
            journal.close()
            throw error
        }
        publishNetwork()
        begin()
    }

    /// Connects the parts, starts watching the device, and restores the last run.
    private func begin() {
        noteDamage(tokens.damage + identity.damage)
        calls.onArrival = { [buses, network] app in
            buses.reopen()
            network.refresh(app)
        }
        calls.onStarted = { [restoration] app in restoration.note([app]) }
        calls.onMissed = { [device] call in device.missed(call) }
        calls.onChanges = [
            { [restoration] changes in restoration.note(changes.apps) },
            { [device] _ in device.update() },
            { [audio] _ in audio.update() },
            { [localReceipts] changes in localReceipts.changed(changes.calls) },
        ]
        protectedData.begin()
        webhooks.reconfigure(credentials.gateway)
        journal.beforeSubmission = { [restoration, calls] in restoration.write(calls) }
        if configuration.watchesCellular { device.cellular.start() }
        audio.begin()
        beginOutboundLink()
        // After the control socket: restored handlers connect to it.
        guard !journal.isOpen else { return restore() }
        callerLists.begin(nil)
        restoration.beginWithoutStore(calls)
        journal.onOpened = { [unowned self] in
            restore()
            // Apps that got no tokens at the start, for the disk's sake.
            do throws(RingwakeError) { try registerAppsIfPossible() } catch { logger.error("\(error.message)") }
        }
    }

    /// Restores the last run: at the start, or when a store that could not be opened then has been.
    private func restore() {
        let contents = journal.takeContents()
        noteDamage(contents.damage)
        judge.noteArrival(at: contents.newestWallClock ?? 0)
        callerLists.begin(contents)
        restoration.restore(contents, calls)
        beginLinks(contents)
        localReceipts.tellAll()
    }

    private func noteDamage(_ damage: [String]) {
        for what in damage { logger.error("damaged or lost, everything else runs", metadata: ["why": "\(what)"]) }
    }

    /// Runs the loop until a signal ends it.
    func run() {
        let addresses = listeners?.providers.open.map(\.listener.localAddress.description) ?? []
        logger.notice(
            "ringwaked is ready",
            metadata: [
                "version": "\(ProductVersion.current)", "control": "\(configuration.controlSocket)",
                "listeners": "\(addresses.joined(separator: ","))", "apps": "\(configuration.apps.count)",
            ])
        for port in passed.unused {
            logger.warning(
                "a port that systemd holds is not used, because a device takes pushes from its gateway only",
                metadata: [
                    "address": "\(port.address)", "environment": "\(port.environment)", "advice": "\(port.remedy)",
                ])
        }
        logFailures()
        logCredentialProblems()
        identity.logStatus()
        _ = judge.verdict()
        service.ready()
        runLoop.run()
        outbound?.close()
        links?.close()
        webhooks.close()
        device.close()
        protection.close()
        audio.close()
        buses.close()
        network.close()
        journal.close()
        logger.notice("ringwaked has stopped", metadata: ["active-calls": "\(calls.coordinator.active.count)"])
    }

    // MARK: - Setup

    private func makeGateway() -> PushGateway {
        let gateway = PushGateway(
            configuration: credentials.gateway, tokens: tokens, wallClock: { unixMilliseconds() }, logger: logger,
            earliestTime: { [judge] in judge.earliestTime() },
            isConfigured: { [calls] app in calls.configuration.apps[app] != nil },
            schedule: { [runLoop] time, body in
                runLoop.schedule(at: runLoop.now.advanced(by: time), tolerance: .zero, body)
            },
            watch: RequestWatch(
                isWatched: { [calls] in calls.service.subscriptions.readsRequests },
                report: { [calls] request in calls.publish(EventMessage(request), to: .requests(request.app)) }),
            deliver: { [unowned self] push, answer in
                judge.noteArrival()
                switch push.destination {
                case .local: calls.receive(push, answer: localReceipts.noting(push, answer))
                case .device(let device, let slot):
                    guard let links else { return answer(.refused(.unavailable)) }
                    links.receive(push, device, slot, answer: answer)
                }
            })
        gateway.receipt = { [unowned self] asked, answer in receipts.find(asked, answer) }
        gateway.linked = { [unowned self] in links?.owner(ofTokenHash: $0) }
        return gateway
    }

    /// Registers a token for each app and each environment of the listeners. An app whose file is wrong keeps those
    /// that it has.
    func registerApps(_ configuration: Configuration) throws(RingwakeError) {
        var environments = passed.environments(with: configuration)
        if tokens.device != nil {
            environments += configuration.link.environments.filter { !environments.contains($0) }
        }
        for app in configuration.apps.values where !app.isBare {
            _ = try tokens.register(app: app.id, topic: .voip(of: app.id), environments: environments)
        }
        identity.register(configuration)
    }

    /// The same, except that a disk that takes no new tokens costs a new app its calls, and not all apps theirs.
    func registerAppsIfPossible() throws(RingwakeError) {
        do throws(RingwakeError) {
            try registerApps(configuration)
        } catch {
            guard error.code == .system else { throw error }
            logger.error("tokens of new apps cannot be stored", metadata: ["why": "\(error.message)"])
        }
    }

    private func listen() throws(RingwakeError) -> Listeners {
        try Listeners(
            configuration, passed: passed, tls: credentials.tls, linkTLS: credentials.linkTLS, descriptors: descriptors,
            runLoop: runLoop, logger: logger,
            makeControl: { [control] peer, group in control.makeConnectionHandler(peer: peer, group: group) },
            makeStatus: { [control] peer in control.makeStatusHandler(peer: peer) },
            makeProvider: { [gateway] peer, environment in
                gateway.makeConnectionHandler(peer: peer, environment: environment)
            },
            onFailure: { [gateway] failure, environment in
                gateway.connectionFailed(failure, environment: environment)
            },
            takeLink: { [unowned self] connection in
                if let links { links.server.take(connection) } else { connection.close() }
            })
    }

    private func watchSignals() throws(RingwakeError) {
        // A peer that closes its socket must not end the daemon; the write fails with EPIPE instead.
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

    /// Stops the daemon when the writers of its standard input have gone.
    ///
    /// - Throws: `invalidRequest` if standard input is a file, which always ends at once.
    func stopAtEndOfInput() throws(RingwakeError) {
        var input: ReadinessSource?
        do throws(RunLoopError) {
            input = try runLoop.watch(STDIN_FILENO, for: .read, cause: .signal) { [weak self] _ in
                var buffer = [UInt8](repeating: 0, count: 4096)
                guard Glibc.read(STDIN_FILENO, &buffer, buffer.count) <= 0 else { return }
                input?.cancel()
                self?.stop("end of input")
            }
        } catch {
            throw RingwakeError(.invalidRequest, "--stop-at-eof needs a pipe or a socket as standard input: \(error)")
        }
    }

    /// Stops, and starts again: for a restore, which the start puts in place. A daemon that stops already goes on with that.
    func restart() {
        if !isStopping { stop("restart", restarting: true) }
    }

    /// Stops accepting pushes, answers the open requests, and ends the loop. A second signal ends it at once, and for good.
    private func stop(_ signal: String, restarting: Bool = false) {
        restarts = restarting
        guard !isStopping else { return runLoop.stop() }
        isStopping = true
        logger.notice("ringwaked is stopping", metadata: ["signal": "\(signal)"])
        // systemd would wait for the end of the process.
        if !restarts { service.stopping() }
        calls.requests.endStreams()
        queries.finish()
        audio.clients.finish()
        links?.stop()
        listeners?.drain(on: runLoop) { [runLoop] in runLoop.stop() }
    }

    // MARK: - Reload

    private func reloadOnSignal() {
        do throws(RingwakeError) {
            _ = try reload()
        } catch {
            // `reload()` has logged it.
        }
    }
}
