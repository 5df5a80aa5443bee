internal import ControlProtocol
internal import FileSystem
internal import HTTPServer
internal import RingwakeCore

/// The clients of the control socket that hold audio sessions, each as long as the stream that opened it; that choose an
/// output; or that wait for the audio server.
///
/// What holds: each request is answered once, those of one session in their order; a stream has `active` and `inactive`
/// in turns.
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
        /// Nil once the daemon is stopping.
        var stream: (any HTTPExchange)?
        let app: AppID?
        var hasLease: Bool
        /// The stream has said that it is active, and not yet that it is not.
        var isReportedActive = false
        /// What it asked for and has not been answered, the oldest first.
        var open: [Request] = []
    }

    private struct Request {
        let event: AudioEvent
        /// Nil of what was asked for by opening the stream: that says what came of it.
        let exchange: (any HTTPExchange)?
    }

    private unowned let audio: AudioService
    private var holders: [AudioSessionID: Holder] = [:]
    /// Who waits for the server, and the session that has it connected to meanwhile.
    private var waiting: [ObjectIdentifier: (exchange: any HTTPExchange, session: AudioSessionID)] = [:]
    /// Who has chosen an output, by the choice's number.
    private var choosing: [UInt64: any HTTPExchange] = [:]
    private var lastChoice: UInt64 = 0
    /// Why the last request for the speaker was refused.
    private var speakerRefusal: AudioSessionError?

    init(_ audio: AudioService) { self.audio = audio }

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
        let id = try nextSession()
        exchange.beginLines()
        // A client that has left already would never be seen leaving.
        guard exchange.isOpen else { return }
        holders[id] = Holder(stream: exchange, app: owner.app, hasLease: owner.hasLease)
        exchange.onClose = { [weak self] in self?.close(id) }
        let client = AudioClient(
            processes: Set([owner.process].compactMap(\.self)), name: AudioClients.name(opening.name, owner))
        audio.submit(.opened(id, client, hasLease: owner.hasLease))
        send(AudioNoticeMessage(opened: id), to: id)
        guard holders[id] != nil else { return }
        ask(id, .configured(id, configuration), nil)
        if opening.active == true { ask(id, .activationRequested(id), nil) }
    }

    private func nextSession() throws(RingwakeError) -> AudioSessionID {
        guard audio.arbiter.hasRoom else {
            throw RingwakeError(.limitReached, "as many audio sessions are open as may be; close one")
        }
        return audio.arbiter.nextSessionID
    }

    /// The session of this number, if `app` may have a say in it (nil: the owner, who may in all).
    ///
    /// - Throws: `notFound`; `notPermitted` for a call's and another app's.
    func session(_ text: String, for app: AppID?) throws(RingwakeError) -> AudioSessionID {
        guard let id = UInt64(text).map({ AudioSessionID(number: $0) }), let holder = holders[id] else {
            throw RingwakeError(
                .notFound, "no audio session \(text) is open; 'ringwake audio sessions' shows those that are")
        }
        guard app == nil || app == holder.app else {
            throw RingwakeError(
                .notPermitted, "the audio session \(text) is not one of \(app.map { "\($0)" } ?? "")")
        }
        return id
    }

    /// The sessions that `app` may see (nil: all): that of the calls first, then the oldest first.
    func list(for app: AppID?) -> [AudioSessionMessage] {
        let (arbiter, now) = (audio.arbiter, audio.calls.now)
        let call = AudioSessionMessage(callOf: arbiter, audio.calls.coordinator, at: now)
        let sessions = arbiter.sessions.sorted { $0.key < $1.key }.map { id, session in
            AudioSessionMessage(id, session, app: holders[id]?.app, of: arbiter, at: now)
        }
        return ([call].compactMap(\.self) + sessions).filter { app == nil || $0.app == app?.rawValue }
    }

    /// Asks for an activation, a deactivation or a configuration: answered when the arbiter has answered.
    func ask(_ id: AudioSessionID, _ event: AudioEvent, _ exchange: (any HTTPExchange)?) {
        holders[id]?.open.append(Request(event: event, exchange: exchange))
        audio.submit(event)
    }

    /// Whether the app's handler may interrupt others now; nil: as before.
    func setLease(_ id: AudioSessionID, _ hasLease: Bool?) {
        guard let hasLease, holders[id]?.hasLease != hasLease else { return }
        holders[id]?.hasLease = hasLease
        audio.submit(.leaseChanged(id, hasLease: hasLease))
    }

    func overrideOutput(_ id: AudioSessionID, isSpeaker: Bool, _ exchange: any HTTPExchange) {
        speakerRefusal = nil
        audio.submit(.outputOverridden(id, isSpeaker: isSpeaker))
        respond(speakerRefusal.map { .failure($0) } ?? .success(audio.arbiter.route), id, exchange)
    }

    private func close(_ id: AudioSessionID) {
        guard let holder = holders.removeValue(forKey: id) else { return }
        audio.submit(.closed(id, hasDied: true))
        for request in holder.open {
            request.exchange?.respond(AudioSessionError(.expiredSession, "the session was closed"))
        }
    }

    /// Ends every stream, and answers whoever waits: the daemon is stopping.
    func finish() {
        let asking = waiting.values.map(\.exchange) + choosing.values
        (waiting, choosing) = ([:], [:])
        for exchange in asking { exchange.respond(.success(AudioStatusMessage(audio))) }
        for id in holders.keys {
            let stream = holders[id]?.stream
            holders[id]?.stream = nil
            stream?.onClose = nil
            stream?.finish()
        }
    }

    // MARK: - What the arbiter has for them

    func notify(_ id: AudioSessionID, _ notice: AudioNotice) {
        switch notice {
        case .interruptionBegan, .mediaServicesWereLost, .mediaServicesWereReset: holders[id]?.isReportedActive = false
        case .interruptionEnded, .routeChanged, .secondaryAudioShouldBeSilenced: break
        }
        send(AudioNoticeMessage(notice), to: id)
    }

    /// The oldest request is answered.
    func answer(_ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>) {
        guard let request = holders[id]?.open.first else { return }
        holders[id]?.open.removeFirst()
        conclude(request, id, result)
    }

    /// A request that is refused is so at once, so it is the newest of those that wait.
    func refuse(_ id: AudioSessionID, _ event: AudioEvent, _ error: AudioSessionError) {
        speakerRefusal = error
        guard holders[id]?.open.last?.event == event, let request = holders[id]?.open.popLast() else { return }
        conclude(request, id, .failure(error))
    }

    private func conclude(
        _ request: Request, _ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>
    ) {
        switch (request.event, result) {
        case (.activationRequested, .success(let route)):
            report(id, isActive: true, AudioNoticeMessage(active: route))
        case (.deactivationRequested, .success):
            report(id, isActive: false, AudioNoticeMessage(event: "inactive"))
        // One that was busy is inactive all the same.
        case (.deactivationRequested, .failure(let error)) where error.code == .isBusy:
            report(id, isActive: false, AudioNoticeMessage(event: "inactive"))
        default: break
        }
        if let exchange = request.exchange {
            respond(result, id, exchange)
        } else if case .failure(let error) = result {
            send(AudioNoticeMessage(error), to: id)
        }
    }

    private func report(_ id: AudioSessionID, isActive: Bool, _ message: AudioNoticeMessage) {
        guard let holder = holders[id], holder.isReportedActive != isActive else { return }
        holders[id]?.isReportedActive = isActive
        send(message, to: id)
    }

    private func respond(
        _ result: Result<AudioRoute, AudioSessionError>, _ id: AudioSessionID, _ exchange: any HTTPExchange
    ) {
        switch result {
        case .failure(let error): exchange.respond(error)
        case .success(let route):
            guard var session = list(for: nil).first(where: { $0.id == id.number }) else {
                return exchange.respond(AudioSessionError(.expiredSession, "the session was closed meanwhile"))
            }
            if session.state == "active" { session.route = AudioRouteMessage(route) }
            exchange.respond(.success(session))
        }
    }

    /// One that does not read is gone, and its session with it.
    private func send(_ message: AudioNoticeMessage, to id: AudioSessionID) {
        if let stream = holders[id]?.stream, !stream.send(controlLine(message)) { close(id) }
    }

    // MARK: - The route

    /// Answers with how audio stands as soon as the server is connected to, or is known to be away.
    func answerConnected(_ exchange: any HTTPExchange) throws(RingwakeError) {
        let status = AudioStatusMessage(audio)
        guard status.isUndecided else { return exchange.respond(.success(status)) }
        try requireRoom()
        // A session that plays nothing has the server connected to, and changes nothing of it.
        let (id, session) = (ObjectIdentifier(exchange), try nextSession())
        waiting[id] = (exchange, session)
        exchange.onClose = { [weak self] in
            if self?.waiting.removeValue(forKey: id) != nil { self?.audio.submit(.closed(session, hasDied: true)) }
        }
        audio.submit(.opened(session, AudioClient(name: "a look at the route"), hasLease: false))
    }

    /// Chooses an output; answers with how audio stands once it is chosen, or with why it is not.
    func choose(_ output: String?, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try requireRoom()
        lastChoice &+= 1
        choosing[lastChoice] = exchange
        audio.submit(.outputChosen(output, number: lastChoice))
    }

    func answerChoice(_ number: UInt64, _ error: AudioSessionError?) {
        guard let exchange = choosing.removeValue(forKey: number) else { return }
        if let error { return exchange.respond(error) }
        exchange.respond(.success(AudioStatusMessage(audio)))
    }

    private func requireRoom() throws(RingwakeError) {
        let count = waiting.count + choosing.count
        guard count < AudioClients.maximumWaiting else {
            throw RingwakeError(.limitReached, "\(count) clients wait for the audio server already; try again later")
        }
    }

    /// Answers those who wait for the server, if it is known how that is.
    func update() {
        guard !waiting.isEmpty else { return }
        let status = AudioStatusMessage(audio)
        guard !status.isUndecided else { return }
        let answered = waiting.values
        waiting = [:]
        for (exchange, session) in answered {
            audio.submit(.closed(session, hasDied: false))
            exchange.respond(.success(status))
        }
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

extension HTTPExchange {
    /// Answers why something asked of an audio session was not done.
    func respond(_ error: AudioSessionError) {
        respond(status: error.code.errorCode.httpStatus, json: controlJSON(ErrorMessage(error)))
    }
}
