internal import ControlProtocol
internal import FileSystem
internal import HTTPServer
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore

// What the control API asks for: other settings, and the apps.
extension Daemon {
    func reload() throws(RingwakeError) -> ReloadMessage {
        let new = try Configuration.load(file: configuration.file, defaults: defaults)
        try new.checkNames()
        let newCredentials = try Credentials(new)
        try registerApps(new)
        let former = knownCredentials()
        let needsRestart = configuration.settingsThatNeedRestart(toBecome: new)
        if let tls = newCredentials.tls {
            for (listener, _) in listeners {
                listener.replaceTLS(tls)
            }
        }
        gateway.reconfigure(newCredentials.gateway)
        runner.configuration = new
        network.reconfigure(new)
        screen.reconfigure(new)
        callerLists.reconfigure()
        device.reconfigure(new)
        audio.reconfigure(new)
        buses.reopen()
        credentials = newCredentials
        configuration.adopt(new)
        logger.notice(
            "configuration reloaded",
            metadata: ["apps": "\(new.apps.count)", "needs-restart": "\(needsRestart.joined(separator: ","))"])
        events.publish(.reload(.init()), of: nil)
        let credentials = knownCredentials()
        for app in Set(former.keys).union(credentials.keys) where former[app] != credentials[app] {
            events.publish(EventMessage(credentialsOf: app, areValid: credentials[app] != nil), of: app)
        }
        return ReloadMessage(apps: new.apps.keys.map(\.rawValue).sorted(), needsRestart: needsRestart)
    }

    func apps() -> [AppMessage] {
        let connections = runner.handlers.connections
        return configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }.map { app in
            var message = AppMessage(app, in: configuration, strikes: strikes(of: app.id))
            let tokens = tokens.tokens(of: app.id).map { ($0.key.rawValue, $0.value.hex) }
            message.tokens = Dictionary(tokens) { first, _ in first }
            message.connected = connections[app.id] ?? 0
            message.connection = network.message(of: app.id)
            return message
        }
    }

    /// What senders need to reach an app; nil for one that is not configured.
    func credentials(of id: AppID) -> CredentialsMessage? {
        guard let app = configuration.apps[id] else { return nil }
        let message = AppMessage(app, in: configuration, strikes: StrikesMessage())
        let tokens = tokens.tokens(of: id).sorted { $0.key.rawValue < $1.key.rawValue }
        return CredentialsMessage(
            app: message.app, topic: message.topic, teams: message.teams,
            credentials: tokens.map { .init(environment: $0.key.rawValue, token: $0.value.hex) })
    }

    private func knownCredentials() -> [AppID: CredentialsMessage] {
        Dictionary(configuration.apps.keys.compactMap { id in credentials(of: id).map { (id, $0) } }) { first, _ in
            first
        }
    }

    private func strikes(of app: AppID) -> StrikesMessage {
        let (limit, now) = (runner.policy(of: app)?.strikes ?? StrikeLimit(), runner.now)
        let recent = runner.coordinator.strikes(of: app).filter { $0.at.advanced(by: limit.window) > now }
        return StrikesMessage(
            count: recent.count, limit: limit.count, windowMs: limit.window.milliseconds,
            struckOut: runner.coordinator.isStruckOut(app),
            recent: recent.map { strike in
                StrikeMessage(
                    agoMs: max(0, strike.at.duration(to: now).milliseconds), failure: strike.failure.rawValue,
                    call: strike.call.rawValue)
            })
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
        runner.configuration.apps[id] = nil
        runner.submit(.strikesCleared(id))
        restoration.forget(id)
        network.reconfigure(configuration)
        events.publish(EventMessage(credentialsOf: id, areValid: false), of: id)
        logger.notice("app removed, its tokens are unregistered", metadata: ["app": "\(id)"])
        var message = AppMessage(app, in: configuration, strikes: StrikesMessage())
        message.state = "unregistered"
        return message
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
        if new.awake != awake { names.append("awake.by") }
        if new.watchesCellular != watchesCellular { names.append("cellular.watch") }
        if new.notRestored != notRestored { names.append("restoration.exclude") }
        return names
    }

    /// Takes over what a running daemon can change; the rest stays what it is until a restart.
    fileprivate mutating func adopt(_ new: Configuration) {
        server = new.server
        teams = new.teams
        deadlines = new.deadlines
        rules = new.rules
        wake = new.wake
        ring = new.ring
        restrictions = new.restrictions
        audio = new.audio
        reachability = new.reachability
        apps = new.apps
    }
}
