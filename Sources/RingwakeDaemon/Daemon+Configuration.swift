internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import FileSystem
internal import HTTPServer
internal import HandlerActivation
internal import Logging
internal import PushGateway
internal import PushJournal
internal import RingwakeCore
internal import RunLoop

/// How the last reload ended.
struct LastReload {
    let at: BootClock.Instant
    /// What was wrong; nil if the configuration was applied.
    let failure: String?
    /// Settings that differ from the files' until a restart.
    let needsRestart: [String]
}

// Requests of the control API that change the configuration or the apps.
extension Daemon {
    /// Reads the configuration again and applies it. After an error the old one stays in force.
    func reload() throws(RingwakeError) -> ReloadMessage {
        service.reloading()
        do throws(RingwakeError) {
            let message = try applyConfiguration()
            service.reloaded(nil)
            lastReload = LastReload(at: BootClock.now(), failure: nil, needsRestart: message.needsRestart)
            return message
        } catch {
            lastReload = LastReload(
                at: BootClock.now(), failure: error.message, needsRestart: lastReload?.needsRestart ?? [])
            logger.error(
                "reload failed, the old configuration stays in force",
                metadata: ["error": "\(error.code.slug)", "why": "\(error.message)"])
            service.reloaded(error)
            throw error
        }
    }

    private func applyConfiguration() throws(RingwakeError) -> ReloadMessage {
        var new = try Configuration.load(file: configuration.file, defaults: defaults, former: configuration)
        new.checkNames(former: configuration)
        try passed.check(new)
        let newCredentials = try Credentials(&new, former: (configuration, credentials.gateway))
        try newCredentials.refuseExpiredCertificate(insteadOf: credentials, at: unixMilliseconds() / 1000)
        try registerApps(new)
        // Before the ports change: they are part of the credentials.
        let former = knownCredentials()
        // Nothing after this can fail: a port that cannot be opened keeps everything as it was.
        try listeners?.providers.change(to: new.listeners, tls: newCredentials.tls)
        let change = Configuration.change(from: configuration, to: new)
        if let tls = newCredentials.tls {
            listeners?.providers.replaceTLS(tls)
        }
        if let tls = newCredentials.linkTLS { listeners?.links?.replaceTLS(tls) }
        gateway.reconfigure(newCredentials.gateway)
        webhooks.reconfigure(newCredentials.gateway)
        listeners?.providers.teamsChanged(count: new.teams.count)
        credentials = newCredentials
        configuration = change.configuration
        network.reconfigure(configuration)
        callerLists.reconfigure(configuration.restrictions.dialling)
        if let ring = change.slice(\.ring) { device.reconfigure(ring) }
        audio.reconfigure(configuration)
        links?.reconfigure(configuration.gateway)
        buses.reopen()
        logger.notice(
            "configuration reloaded",
            metadata: [
                "apps": "\(new.apps.count)", "needs-restart": "\(change.needsRestart.joined(separator: ","))",
            ])
        logFailures()
        logCredentialProblems()
        let handlerProblems = self.handlerProblems()
        for problem in handlerProblems {
            logger.warning("a handler cannot be woken as configured", metadata: ["why": "\(problem)"])
        }
        calls.publish(.reload(.init()), to: .unfiltered)
        let credentials = knownCredentials()
        for app in Set(former.keys).union(credentials.keys) where former[app] != credentials[app] {
            calls.publish(EventMessage(credentialsOf: app, areValid: credentials[app] != nil), to: .app(app))
        }
        let unusable = credentialProblems().filter { $0.severity == .error }.map { "\($0.file): \($0.sentence)" }
        return ReloadMessage(
            apps: new.apps.keys.map(\.rawValue).sorted(), needsRestart: change.needsRestart,
            setAside: new.setAside.map(SetAsideMessage.init), problems: handlerProblems + ringProblems + unusable)
    }

    /// Why handlers cannot be woken as configured, such as a program that isn't there. Of a transient unit systemd knows
    /// better: the sandbox may hide its program from the daemon.
    private func handlerProblems() -> [String] {
        configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }.compactMap { app in
            if case .transientUnit = app.way { return nil }
            do throws(RingwakeError) {
                try app.way?.check(of: app.id)
                return nil
            } catch {
                return error.message
            }
        }
    }

    func logFailures() {
        for file in configuration.setAside {
            logger.error(
                file.usesFormer
                    ? "a file is wrong, what it said before stays in force" : "a file is wrong and is not in use",
                metadata: ["file": "\(file.file)", "why": "\(file.why)"])
        }
        ringProblems = RingCheck(configuration).problems
        for problem in ringProblems {
            logger.warning("the device cannot ring as configured", metadata: ["why": "\(problem)"])
        }
    }

    func apps() -> [AppMessage] {
        let connections = calls.service.handlers.connections
        let kits = calls.service.handlers.kits
        let path = network.currentPath()
        let route = senderRoute()
        let addresses = PushEnvironment.allCases.compactMap { environment in
            route.place(for: environment).text.map { (environment.rawValue, $0) }
        }
        return configuration.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }.map { app in
            var message = AppMessage(app, in: configuration, strikes: strikes(of: app.id))
            let tokens = tokens.tokens(of: app.id).map { ($0.key.rawValue, $0.value.hex) }
            message.tokens = Dictionary(tokens) { first, _ in first }
            let reached = addresses.filter { message.tokens[$0.0] != nil }
            message.pushAddresses = reached.isEmpty ? nil : Dictionary(reached) { first, _ in first }
            message.faults = faults(of: app.id)?.map { PushFaultMessage($1, $0, at: BootClock.now()) }
            message.connected = connections[app.id] ?? 0
            message.kits = kits[app.id].map { $0.map { KitMessage($0) }.sorted { $0.version < $1.version } }
            message.connection = network.message(of: app.id, on: path)
            message.gateway = outbound?.paired.map { "\($0.reference)" }
            message.vendorIdentifier = identity.vendorIdentifier(of: app, in: configuration)?.text
            message.savedState = savedState(of: app)
            return message
        }
    }

    /// What senders need to reach an app; nil if it isn't configured.
    func credentials(of id: AppID) -> CredentialsMessage? { credentials(of: id, by: senderRoute()) }

    private func credentials(of id: AppID, by route: SenderRoute) -> CredentialsMessage? {
        guard let app = configuration.apps[id] else { return nil }
        let message = AppMessage(app, in: configuration, strikes: StrikesMessage())
        let tokens = tokens.tokens(of: id).sorted { $0.key.rawValue < $1.key.rawValue }
        return CredentialsMessage(
            app: message.app, topic: message.topic, teams: message.teams,
            credentials: tokens.map { environment, token in
                let place = route.place(for: environment)
                return CredentialsMessage.Credential(
                    environment: environment.rawValue, token: token.hex, host: place.host, port: place.port,
                    certificateAuthorities: place.authorities)
            },
            vendorIdentifier: identity.vendorIdentifier(of: app, in: configuration)?.text)
    }

    private func knownCredentials() -> [AppID: CredentialsMessage] {
        let route = senderRoute()
        let known = configuration.apps.keys.compactMap { id in credentials(of: id, by: route).map { (id, $0) } }
        return Dictionary(known) { first, _ in first }
    }

    /// What an app stores; nil if it may not and never did.
    private func savedState(of app: AppConfiguration) -> SavedStateMessage? {
        let (bytes, record) = (calls.service.states[app.id]?.count, calls.service.states.record(of: app.id))
        guard app.keepsState || bytes != nil || !record.isEmpty else { return nil }
        return SavedStateMessage(
            bytes: bytes ?? 0, crashes: record.crashes,
            droppedAt: record.drop.map { UTCTime(milliseconds: $0.at).description },
            droppedBy: record.drop?.reason.rawValue)
    }

    private func strikes(of app: AppID) -> StrikesMessage {
        let (limit, now) = (calls.policy(of: app)?.strikes ?? StrikeLimit(), calls.now)
        let recent = calls.coordinator.strikes(of: app).filter { $0.at.advanced(by: limit.window) > now }
        return StrikesMessage(
            count: recent.count, limit: limit.count, windowMs: limit.window.milliseconds,
            struckOut: calls.coordinator.isStruckOut(app),
            recent: recent.map { strike in
                StrikeMessage(
                    agoMs: max(0, strike.at.duration(to: now).milliseconds), failure: strike.failure.rawValue,
                    call: strike.call.rawValue)
            })
    }

    /// Clears an app's strikes. Completes when that is durable, so they can't return at the next start.
    func clearStrikes(of app: AppID, completion: @escaping (Result<Void, RingwakeError>) -> Void) {
        calls.submit(.strikesCleared(app))
        restoration.forgetStrikes(of: app, completion: completion)
    }

    /// Gives an app new tokens; its former ones expire.
    func renewTokens(of id: AppID) throws(RingwakeError) {
        try tokens.renew(app: id, at: unixMilliseconds())
        calls.publish(EventMessage(credentialsOf: id, areValid: true), to: .app(id))
        logger.notice("app has new tokens, its former ones have expired", metadata: ["app": "\(id)"])
    }

    /// The faults of an app's device tokens; nil if there is none.
    func faults(of id: AppID) -> [(PushEnvironment, PushFault)]? {
        let now = BootClock.now()
        let found = PushEnvironment.allCases.compactMap { environment in
            gateway.faults.fault(for: .init(id, environment), at: now).map { (environment, $0) }
        }
        return found.isEmpty ? nil : found
    }

    /// Sets the fault of an app's device tokens, to test senders; nil ends it.
    ///
    /// - Parameter environment: the environment of one device token; nil: all.
    func setFault(_ message: PushFaultMessage?, environment: String?, of id: AppID) throws(RingwakeError) {
        let known = tokens.tokens(of: id).keys
        let chosen = known.filter { environment == nil || environment == $0.rawValue }
        guard !chosen.isEmpty else {
            let names = known.map(\.rawValue).sorted().joined(separator: ", ")
            throw RingwakeError(
                .invalidRequest,
                "\(id) has no device token in the environment '\(environment ?? "any")'; it has \(names)")
        }
        let fault = try message?.fault(at: BootClock.now())
        for environment in chosen { gateway.faults.set(fault, for: .init(id, environment)) }
        logger.notice(
            fault == nil ? "pushes of an app meet no fault any more" : "pushes of an app meet a fault now",
            metadata: ["app": "\(id)", "fault": "\(message?.fault ?? "none")"])
    }

    /// Makes this another device to all vendors, and reports the apps' new credentials.
    func resetIdentity(keepingTokens: Bool) throws(RingwakeError) {
        try identity.reset(configuration, keepingTokens: keepingTokens)
        for app in configuration.apps.keys {
            calls.publish(EventMessage(credentialsOf: app, areValid: true), to: .app(app))
        }
    }

    /// Removes an app with all that is stored of it.
    ///
    /// - Parameter completion: called when that is durable, or when the disk fails or hangs: then a later commit has it.
    func removeApp(_ id: AppID, completion: @escaping (AppMessage) -> Void) throws(RingwakeError) {
        guard let app = configuration.apps[id] else { throw .noApp(id.rawValue) }
        if FileSystem.exists(app.file) {
            do {
                try FileSystem.remove(app.file)
            } catch {
                throw RingwakeError(
                    .system, "\(error.description); remove the file, then ask again: until then \(id) stays")
            }
        }
        try identity.remove(id)
        // An app whose file was always wrong has none.
        if !app.isBare || !tokens.tokens(of: id).isEmpty { try tokens.unregister(app: id, at: unixMilliseconds()) }
        configuration.apps[id] = nil
        configuration.setAside.removeAll { $0.owner == .app(id) }
        calls.submit(.strikesCleared(id))
        calls.submit(.removed(id))
        for environment in PushEnvironment.allCases { gateway.faults.set(nil, for: .init(id, environment)) }
        network.reconfigure(configuration)
        calls.publish(EventMessage(credentialsOf: id, areValid: false), to: .app(id))
        logger.notice("app removed, its tokens are unregistered", metadata: ["app": "\(id)"])
        var message = AppMessage(app, in: configuration, strikes: StrikesMessage())
        message.state = "unregistered"
        restoration.forget(id)
        // After a kill right then, an app with this id must not find what this one has stored.
        calls.whenDurable { [message] in completion(message) }
    }
}
