internal import ControlProtocol
internal import FileSystem
internal import HTTPServer
internal import RingwakeCore

/// The audio sessions that clients of the control socket hold: each lives as long as the stream that opened it.
final class AudioClients {
    /// The most sessions that handlers of one app may have open: they cannot take all that there are.
    static let maximumSessionsOfApp = 16
    /// The most clients that may wait for the server to be connected to.
    static let maximumWaiting = 16
    /// What is kept of a client's name, in bytes.
    private static let maximumNameBytes = 256

    /// Who holds a session.
    struct Owner {
        /// The app whose handler it is; nil for the owner.
        var app: AppID?
        var process: Int32?
        /// It may interrupt others.
        var hasLease: Bool
    }

    private struct Holder {
        let exchange: any HTTPExchange
        let app: AppID?
        var hasLease: Bool
        /// The stream has said that it is active, and not yet that it is not.
        var isToldActive = false
    }

    private struct Waiting {
        let exchange: any HTTPExchange
        /// Has the server connected to while it is open.
        let session: AudioSessionID
    }

    private let audio: AudioService
    private var holders: [AudioSessionID: Holder] = [:]
    private var waiting: [ObjectIdentifier: Waiting] = [:]
    /// Who has chosen an output, and waits for what comes of it: for some seconds at most.
    private var choosing: [ObjectIdentifier: any HTTPExchange] = [:]

    init(_ audio: AudioService) {
        self.audio = audio
        audio.onChange = { [weak self] in self?.answerWaiting() }
    }

    // MARK: - Sessions

    /// Opens a session and begins its stream; activates it where the client asked for that.
    func open(
        _ opening: AudioSessionOpening, _ configuration: AudioSessionConfiguration, for owner: Owner,
        _ exchange: any HTTPExchange
    ) throws(RingwakeError) {
        if let app = owner.app {
            let count = holders.values.count { $0.app == app }
            guard count < AudioClients.maximumSessionsOfApp else {
                throw RingwakeError(
                    .limitReached, "handlers of \(app) have \(count) audio sessions open, as many as may be; close one")
            }
        }
        let client = AudioClient(
            processes: Set(owner.process.map { [$0] } ?? []), name: AudioClients.name(opening.name, owner))
        // What is told before the stream has begun is told after its first line.
        var isBegun = false
        var early: [AudioNotice] = []
        var opened: AudioSessionID?
        let id = try audio.open(client, hasLease: owner.hasLease, configuration: configuration) { [weak self] notice in
            guard isBegun, let opened else { return early.append(notice) }
            self?.tell(opened, notice)
        }
        opened = id
        exchange.beginLines()
        // A client that has left already would never be seen leaving.
        guard exchange.isOpen else { return audio.close(id, hasDied: true) }
        holders[id] = Holder(exchange: exchange, app: owner.app, hasLease: owner.hasLease)
        exchange.onClose = { [weak self] in self?.died(id) }
        send(AudioNoticeMessage(opened: id), to: id)
        isBegun = true
        for notice in early { tell(id, notice) }
        guard opening.active == true, holders[id] != nil else { return }
        audio.setActive(id, true, notifyOthers: false) { [weak self] result in
            switch result {
            case .success(let route): self?.isActive(id, route)
            case .failure(let error): self?.send(AudioNoticeMessage(error), to: id)
            }
        }
    }

    /// The session of this number, if `app` may have a say in it (nil: the owner, who may in all).
    ///
    /// - Throws: `notFound`; `notPermitted` for a call's and another app's.
    func session(_ text: String, for app: AppID?) throws(RingwakeError) -> AudioSessionID {
        let id = UInt64(text).map { AudioSessionID(number: $0) }
        if let id, let holder = holders[id] {
            guard app == nil || app == holder.app else {
                throw RingwakeError(
                    .notPermitted, "the audio session \(text) is not one of \(app.map { "\($0)" } ?? "")")
            }
            return id
        }
        throw RingwakeError(
            .notFound, "no audio session \(text) is open; 'ringwake audio sessions' shows those that are")
    }

    /// The sessions that `app` may see (nil: all), the oldest first.
    func list(for app: AppID?) -> [AudioSessionMessage] {
        audio.sessions().map { session in
            var session = session
            session.app = session.app ?? holders[AudioSessionID(number: session.id)]?.app?.rawValue
            return session
        }
        .filter { app == nil || $0.app == app?.rawValue }
    }

    func configure(
        _ id: AudioSessionID, _ configuration: AudioSessionConfiguration, _ exchange: any HTTPExchange
    ) {
        audio.configure(id, configuration) { [weak self] result in self?.answer(result, id, exchange) }
    }

    /// - Parameter hasLease: whether the app's handler may interrupt others now; nil: as before.
    func activate(_ id: AudioSessionID, hasLease: Bool?, _ exchange: any HTTPExchange) {
        if let hasLease, holders[id]?.hasLease != hasLease {
            holders[id]?.hasLease = hasLease
            audio.submit(.leaseChanged(id, hasLease: hasLease))
        }
        audio.setActive(id, true, notifyOthers: false) { [weak self] result in
            if case .success(let route) = result { self?.isActive(id, route) }
            self?.answer(result, id, exchange)
        }
    }

    func deactivate(_ id: AudioSessionID, notifyOthers: Bool, _ exchange: any HTTPExchange) {
        audio.setActive(id, false, notifyOthers: notifyOthers) { [weak self] result in
            switch result {
            // One that was busy is inactive all the same.
            case .success: self?.isInactive(id)
            case .failure(let error): if error.code == .isBusy { self?.isInactive(id) }
            }
            self?.answer(result, id, exchange)
        }
    }

    func overrideOutput(_ id: AudioSessionID, speaker: Bool, _ exchange: any HTTPExchange) {
        if let refusal = audio.overrideOutput(id, speaker: speaker) { return exchange.respond(refusal) }
        answer(nil, id, exchange)
    }

    private func died(_ id: AudioSessionID) {
        guard holders.removeValue(forKey: id) != nil else { return }
        audio.close(id, hasDied: true)
    }

    /// Ends every stream, and answers whoever waits: the daemon is stopping.
    func finish() {
        for exchange in waiting.values.map(\.exchange) + choosing.values { exchange.respond(.success(audio.status())) }
        waiting = [:]
        choosing = [:]
        let streams = holders.values.map(\.exchange)
        holders = [:]
        for stream in streams {
            stream.onClose = nil
            stream.finish()
        }
    }

    // MARK: - What clients are told

    private func answer(
        _ result: Result<AudioRoute, AudioSessionError>?, _ id: AudioSessionID, _ exchange: any HTTPExchange
    ) {
        if case .failure(let error) = result { return exchange.respond(error) }
        guard var session = list(for: nil).first(where: { $0.id == id.number }) else {
            return exchange.respond(AudioSessionError(.expiredSession, "the session was closed meanwhile"))
        }
        if case .success(let route) = result, session.state == "active" { session.route = AudioRouteMessage(route) }
        exchange.respond(.success(session))
    }

    private func tell(_ id: AudioSessionID, _ notice: AudioNotice) {
        switch notice {
        case .interruptionBegan, .mediaServicesWereLost, .mediaServicesWereReset: holders[id]?.isToldActive = false
        case .interruptionEnded, .routeChanged, .secondaryAudioShouldBeSilenced: break
        }
        send(AudioNoticeMessage(notice), to: id)
    }

    private func isActive(_ id: AudioSessionID, _ route: AudioRoute) {
        guard holders[id]?.isToldActive == false else { return }
        holders[id]?.isToldActive = true
        send(AudioNoticeMessage(active: route), to: id)
    }

    private func isInactive(_ id: AudioSessionID) {
        guard holders[id]?.isToldActive == true else { return }
        holders[id]?.isToldActive = false
        send(AudioNoticeMessage(event: "inactive"), to: id)
    }

    /// One that does not read is gone, and its session with it.
    private func send(_ message: AudioNoticeMessage, to id: AudioSessionID) {
        guard let exchange = holders[id]?.exchange, !exchange.send(controlLine(message)) else { return }
        died(id)
    }

    /// What the client calls itself, else what its process is called.
    private static func name(_ given: String?, _ owner: Owner) -> String {
        let kept = given.map { String(decoding: $0.utf8.prefix(maximumNameBytes), as: UTF8.self) }
        if let kept, !kept.isEmpty { return kept }
        if let app = owner.app { return app.rawValue }
        guard let process = owner.process,
            let bytes = try? FileSystem.read("/proc/\(process)/comm", maximumSize: maximumNameBytes)
        else { return "a client of the control socket" }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

// MARK: - The route

extension AudioClients {
    /// Answers with how audio stands as soon as the server is connected to, or is known to be away.
    func answerConnected(_ exchange: any HTTPExchange) throws(RingwakeError) {
        let status = audio.status()
        guard status.isUndecided else { return exchange.respond(.success(status)) }
        try requireRoom()
        // A session that plays nothing has the server connected to, and changes nothing of it.
        let client = AudioClient(name: "a look at the route")
        let session = try audio.open(client, hasLease: false, configuration: .standard) { _ in }
        let id = ObjectIdentifier(exchange)
        waiting[id] = Waiting(exchange: exchange, session: session)
        exchange.onClose = { [weak self] in self?.stopWaiting(id) }
        answerWaiting()
    }

    /// Chooses an output; answers with how audio stands once it is chosen, or with why it is not.
    func choose(_ output: String?, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try requireRoom()
        // The closure keeps the exchange, and so its identity.
        let id = ObjectIdentifier(exchange)
        choosing[id] = exchange
        audio.chooseOutput(output) { [weak self] error in
            guard let self, choosing.removeValue(forKey: id) != nil else { return }
            if let error { return exchange.respond(error) }
            exchange.respond(.success(audio.status()))
        }
    }

    private func requireRoom() throws(RingwakeError) {
        let count = waiting.count + choosing.count
        guard count < AudioClients.maximumWaiting else {
            throw RingwakeError(.limitReached, "\(count) clients wait for the audio server already; try again later")
        }
    }

    private func answerWaiting() {
        guard !waiting.isEmpty else { return }
        let status = audio.status()
        guard !status.isUndecided else { return }
        for (id, one) in waiting {
            stopWaiting(id)
            one.exchange.respond(.success(status))
        }
    }

    private func stopWaiting(_ id: ObjectIdentifier) {
        guard let one = waiting.removeValue(forKey: id) else { return }
        audio.close(one.session, hasDied: false)
    }
}

extension AudioStatusMessage {
    /// Whether the server may be connected to in a moment.
    nonisolated fileprivate var isUndecided: Bool { state == "idle" || state == "starting" }
}

extension HTTPExchange {
    /// Answers why something asked of an audio session was not done.
    func respond(_ error: AudioSessionError) {
        respond(status: error.code.errorCode.httpStatus, json: controlJSON(ErrorMessage(error)))
    }
}
