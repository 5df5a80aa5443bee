internal import DaemonConfiguration
internal import ControlProtocol
internal import Cryptography
internal import Logging
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore
internal import RunLoop

/// Monitors the network for the whole daemon, and derives the connection status of the daemon and of each app.
///
/// If the kernel or a sandbox prevents that, the daemon works without it; its status says why.
final class NetworkWatch {
    /// Maximum targets of all apps. The rest of the monitor's capacity is for queries.
    private static let maximumAppTargets = 512

    /// A target of one or more apps, and its last result.
    private struct Target {
        let watch: NetworkMonitor.Watch
        var reachability: TargetReachability?
    }

    /// Called with each change of the path.
    var onPath: ((NetworkPath) -> Void)?
    /// Called with each change of the daemon's connection status.
    var onConnection: ((ConnectionStatus) -> Void)?
    /// Called with each change of the connection status of an app that has targets.
    var onAppConnection: ((AppID, ConnectionStatus) -> Void)?

    /// Called when the machine has resumed from suspend.
    var onResume: (() -> Void)? {
        didSet { watching()?.onResume = onResume }
    }

    private let monitor: Result<NetworkMonitor, RingwakeError>
    private let runLoop: RunLoop
    private let logger: Logger
    /// Filter level that the configuration asks for.
    private(set) var filterLevel: Int
    private var pathWatch: NetworkMonitor.Watch?
    private var targets: [WatchedTarget: Target] = [:]
    private var apps: [AppID: [WatchedTarget]] = [:]
    private var reportedPath: NetworkPath?
    private var reportedConnection: ConnectionStatus?
    private var reportedApps: [AppID: ConnectionStatus] = [:]
    /// Apps whose targets have changed. Their status is reported even if it is the same as before.
    private var retargeted: Set<AppID> = []
    private var isSettling = false

    init(runLoop: RunLoop, configuration: Configuration, logger: Logger) {
        self.runLoop = runLoop
        self.logger = logger
        filterLevel = configuration.reachability.filterLevel
        do throws(ReachabilityError) {
            let monitor = try NetworkMonitor(runLoop: runLoop, configuration: configuration.reachability)
            self.monitor = .success(monitor)
            reportedPath = monitor.path
            reportedConnection = ConnectionStatus(monitor.path)
        } catch {
            monitor = .failure(RingwakeError(.system, "reachability is not watched: \(error.message)"))
            logger.warning("reachability is not watched", metadata: ["why": "\(error.message)"])
            return
        }
        pathWatch = watching()?.watchPath { [weak self] _ in self?.settleLater() }
        watchTargets(of: configuration.apps)
    }

    /// The monitor. Throws `system` with the reason if there is none.
    func requireMonitor() throws(RingwakeError) -> NetworkMonitor { try monitor.get() }

    /// Calls `body` with a target's reachability once it is known, and at each change.
    func requireWatch(
        _ target: ReachabilityTarget, _ body: @escaping (TargetReachability) -> Void
    ) throws(RingwakeError) -> NetworkMonitor.Watch {
        let monitor = try requireMonitor()
        do throws(ReachabilityError) {
            return try monitor.watch(target, body)
        } catch {
            throw RingwakeError(.limitReached, error.message)
        }
    }

    /// Applies other settings and apps, and reports what changes.
    func reconfigure(_ configuration: Configuration) {
        filterLevel = configuration.reachability.filterLevel
        watching()?.reconfigure(configuration.reachability)
        watchTargets(of: configuration.apps)
        settleLater()
    }

    /// The app's targets are needed now: looks up its host names whose addresses are old. A change is reported.
    func refresh(_ app: AppID) {
        // Asked for each push; most apps have no targets.
        guard let targets = apps[app], !targets.isEmpty else { return }
        watching()?.refresh(targets.map(\.target))
    }

    /// Cancels all watches and closes the monitor. Idempotent.
    func close() {
        pathWatch?.cancel()
        for target in targets.values { target.watch.cancel() }
        targets = [:]
        watching()?.close()
    }

    // MARK: - Status

    /// The network path reported last; nil if the network isn't monitored.
    var path: NetworkPath? { watching()?.path }

    /// The network path at this moment, for answers to clients; nil if the network isn't monitored.
    func currentPath() -> NetworkPath? { watching()?.currentPath() }

    /// Tells the networks of this device apart for its gateway, without saying which they are: the kind, and a digest of
    /// the routers. Nil if the network isn't monitored, or there is none.
    var linkLabel: String? {
        guard let path, let type = path.interfaces.first?.type, path.status == .satisfied else { return nil }
        let kind =
            switch type {
            case .cellular: "cellular"
            case .wifi: "wifi"
            default: "ethernet"
            }
        let routers = path.gateways.map(\.description).sorted().joined(separator: " ")
        return kind + ":" + encodeHex(Array(SHA256.digest(Array(routers.utf8)).prefix(8)))
    }

    /// The network namespace that is monitored; nil if it isn't known.
    var namespace: UInt64? { watching()?.networkNamespace }

    /// The reachability of watched targets at this moment, for answers to clients; nil for an unknown one.
    /// - Parameter user: whose packets; nil for the daemon's.
    func current(_ targets: [ReachabilityTarget], forUser user: UInt32? = nil) -> [TargetReachability?] {
        watching()?.current(targets, forUser: user) ?? targets.map { _ in nil }
    }

    /// Connection status of the daemon; nil if the network isn't monitored.
    var connection: ConnectionStatus? { path.map { ConnectionStatus($0) } }

    /// Status of the monitor. Throws `system` with the reason if there is none.
    func status() throws(RingwakeError) -> MonitorStatus { try monitor.get().status }

    /// Connection status of an app: from its targets, or the daemon's if it has none. Nil if the network isn't
    /// monitored.
    func connection(of app: AppID) -> ConnectionStatus? {
        guard watching() != nil else { return nil }
        return ConnectionStatus(reachability(of: app)) ?? connection
    }

    /// The watched targets of an app, in its order; empty if it has none.
    func reachability(of app: AppID) -> [(ReachabilityTarget, TargetReachability)] {
        guard let path else { return [] }
        return (apps[app] ?? []).compactMap { watched in
            targets[watched].map { (watched.target, $0.reachability ?? .resolving(on: path)) }
        }
    }

    /// The same at this moment, for answers to clients.
    func currentReachability(of app: AppID) -> [(ReachabilityTarget, TargetReachability)] {
        let known = reachability(of: app)
        // All targets of an app are for the same user.
        return zip(known, current(known.map(\.0), forUser: apps[app]?.first?.user)).map { ($0.0, $1 ?? $0.1) }
    }

    /// When the addresses of a watched target were looked up; nil if it is no host name, or not known yet.
    func resolvedAt(_ target: ReachabilityTarget) -> BootClock.Instant? { watching()?.resolvedAt(target) }

    /// Whether an app has its own status because it has watched targets.
    func hasTargets(_ app: AppID) -> Bool { apps[app]?.contains { targets[$0] != nil } ?? false }

    /// Apps that have targets, sorted by bundle ID.
    var appsWithTargets: [AppID] { apps.keys.filter(hasTargets).sorted { $0.rawValue < $1.rawValue } }

    private func watching() -> NetworkMonitor? {
        if case .success(let monitor) = monitor { monitor } else { nil }
    }

    // MARK: - Targets of apps

    private func watchTargets(of configured: [AppID: AppConfiguration]) {
        guard let monitor = watching() else { return }
        let before = apps
        apps = configured.mapValues { app in app.targets.map { WatchedTarget($0, forUser: app.targetsUser) } }
            .filter { !$0.value.isEmpty }
        for app in Set(before.keys).union(apps.keys) where before[app] != apps[app] {
            reportedApps[app] = nil
            retargeted.insert(app)
        }
        retargeted = retargeted.filter { configured[$0] != nil }
        let wanted = Set(apps.values.joined())
        for (name, target) in targets where !wanted.contains(name) {
            target.watch.cancel()
            targets[name] = nil
        }
        // Sorted by app, so that at the limit always the same targets are left out.
        for (app, names) in apps.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for name in names where targets[name] == nil {
                watch(name, of: app, with: monitor)
            }
        }
    }

    private func watch(_ name: WatchedTarget, of app: AppID, with monitor: NetworkMonitor) {
        guard targets.count < NetworkWatch.maximumAppTargets else {
            return logUnwatched(name, app, "apps have \(NetworkWatch.maximumAppTargets) targets already")
        }
        do throws(ReachabilityError) {
            let watch = try monitor.watch(name.target, forUser: name.user) { [weak self] reachability in
                self?.targets[name]?.reachability = reachability
                self?.settleLater()
            }
            targets[name] = Target(watch: watch)
        } catch {
            logUnwatched(name, app, error.message)
        }
    }

    private func logUnwatched(_ name: WatchedTarget, _ app: AppID, _ why: String) {
        logger.warning(
            "target is not watched", metadata: ["app": "\(app)", "target": "\(name.target)", "why": "\(why)"])
    }

    // MARK: - Changes

    /// The monitor reports the path and the targets one by one. Evaluate once, after all have been reported.
    private func settleLater() {
        guard !isSettling else { return }
        isSettling = true
        runLoop.enqueue { [weak self] in
            self?.isSettling = false
            self?.settle()
        }
    }

    private func settle() {
        guard let path, let connection else { return }
        if path != reportedPath {
            reportedPath = path
            logger.info(
                "network changed",
                metadata: [
                    "status": "\(path.status.rawValue)", "interface": "\(path.interfaces.first?.name ?? "")",
                    "reason": "\(path.unsatisfiedReason?.rawValue ?? "")",
                ])
            onPath?(path)
        }
        if connection != reportedConnection {
            reportedConnection = connection
            log(connection, of: nil)
            onConnection?(connection)
        }
        for app in retargeted.union(appsWithTargets).sorted(by: { $0.rawValue < $1.rawValue }) where isJudged(app) {
            retargeted.remove(app)
            guard let status = self.connection(of: app), reportedApps[app] != status else { continue }
            reportedApps[app] = hasTargets(app) ? status : nil
            log(status, of: app)
            onAppConnection?(app, status)
        }
    }

    /// Whether every target has a result. An app isn't offline just because a name is looked up for the first time.
    private func isJudged(_ app: AppID) -> Bool {
        (apps[app] ?? []).allSatisfy { name in targets[name].map { $0.reachability != nil } ?? true }
    }

    private func log(_ status: ConnectionStatus, of app: AppID?) {
        var metadata: Logger.Metadata = ["connection": "\(status.state.rawValue)", "why": "\(status.why ?? "")"]
        metadata["app"] = app.map { "\($0)" }
        logger.info("connection changed", metadata: metadata)
    }
}

extension ConnectionStatus {
    /// The daemon's status on this path.
    init(_ path: NetworkPath) {
        self.init(
            network: .init(path.status, path.unsatisfiedReason), hasNameServer: path.supportsDNS,
            isConstrained: path.isConstrained)
    }
}

extension ConnectionStatus {
    /// The status of an app with these targets; nil if there are none.
    init?(_ targets: [(ReachabilityTarget, TargetReachability)]) {
        self.init(targets: targets.map { .init($0.1.status, $0.1.unsatisfiedReason) })
    }
}

extension ConnectionStatus.Usability {
    fileprivate init(_ status: NetworkPath.Status, _ reason: UnsatisfiedReason?) {
        switch status {
        case .satisfied: self = .usable
        case .requiresConnection:
            self = .needsConnection(reason: (reason ?? .connectionRequired).rawValue)
        case .unsatisfied: self = .unusable(reason: (reason ?? .noRoute).rawValue)
        }
    }
}
