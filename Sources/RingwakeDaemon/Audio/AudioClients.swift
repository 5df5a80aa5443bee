internal import ControlProtocol
internal import FileSystem
internal import HTTPServer
internal import RingwakeCore

/// Owns the audio requests of control socket clients: audio sessions (each lives as long as the stream that opened it),
/// output choices, and clients that wait for the audio server.
///
/// Invariants: each request gets one answer, those of one session in order; `active` and `inactive` alternate in a
/// stream.
final class AudioClients {
    /// Maximum open sessions of one app's handlers, so that one app can't use them all.
    static let maximumSessionsOfApp = 16
    /// Maximum clients that wait for a connection to the audio server.
    static let maximumWaiting = 16
    /// A client's name is cut to this many bytes.
    private static let maximumNameBytes = 256

    /// The client that holds a session.
    struct Owner {
        /// App of the handler; nil for the owner.
        var app: AppID?
        var process: Int32?
        /// Whether the session may interrupt others.
        var hasLease: Bool
    }

    private struct Holder {
        /// Nil once the daemon is stopping.
        var stream: (any HTTPExchange)?
        let app: AppID?
        var hasLease: Bool
        /// The stream has sent `active`, and no `inactive` since.
        var isReportedActive = false
        /// Unanswered requests, oldest first.
        var open: [Request] = []
    }

    private struct Request {
        let event: AudioEvent
        /// Nil for a request that opening the stream implies: its result goes to the stream.
        let exchange: (any HTTPExchange)?
    }

    private unowned let audio: AudioService
    private var holders: [AudioSessionID: Holder] = [:]
    /// Clients that wait for the audio server, each with the session that makes the daemon connect to it.
    private var waiting: [ObjectIdentifier: (exchange: any HTTPExchange, session: AudioSessionID)] = [:]
    /// Clients that have chosen an output, by the number of the choice.
    private var choosing: [UInt64: any HTTPExchange] = [:]
    private var lastChoice: UInt64 = 0
    /// Error of the last refused speaker override.
    private var speakerRefusal: AudioSessionError?

    init(_ audio: AudioService) { self.audio = audio }

    // MARK: - Sessions

    /// Opens a session and begins its stream. Activates the session if the client asked for it.
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
        // `onClose` isn't called for a client that has already left.
        guard exchange.isOpen else { return }
        holders[id] = Holder(stream: exchange, app: owner.app, hasLease: owner.hasLease)
        exchange.onClose = { [weak self] in self?.close(id) }
        let client = AudioClient(
            processes: Set([owner.process].compactMap(\.self)), name: AudioClients.name(opening.name, owner))
        audio.submit(.opened(id, client, hasLease: owner.hasLease))
        let isInputAvailable = audio.arbiter.sessions[id]?.isInputAvailable ?? true
        send(AudioNoticeMessage(opened: id, isInputAvailable: isInputAvailable), to: id)
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

    /// Looks up a session that `app` may control; nil means all (the owner).
    ///
    /// - Throws: `notFound`; `notPermitted` for another app's session.
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

    /// Sessions that `app` may see (nil: all): the calls' session first, then the clients', oldest first.
    func list(for app: AppID?) -> [AudioSessionMessage] {
        let (arbiter, now) = (audio.arbiter, audio.calls.now)
        let call = AudioSessionMessage(callOf: arbiter, audio.calls.coordinator, at: now)
        let sessions = arbiter.sessions.sorted { $0.key < $1.key }.map { id, session in
            AudioSessionMessage(id, session, app: holders[id]?.app, of: arbiter, at: now)
        }
        return ([call].compactMap(\.self) + sessions).filter { app == nil || $0.app == app?.rawValue }
    }

    /// Submits an activation, a deactivation or a configuration. The client gets its answer when the arbiter has
    /// decided.
    func ask(_ id: AudioSessionID, _ event: AudioEvent, _ exchange: (any HTTPExchange)?) {
        holders[id]?.open.append(Request(event: event, exchange: exchange))
        audio.submit(event)
    }

    /// Sets whether the app's handler may interrupt others; nil changes nothing.
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
        audio.submit(.closed(id))
        for request in holder.open {
            request.exchange?.respond(AudioSessionError(.expiredSession, "the session was closed"))
        }
    }

    /// Ends every stream and answers every waiting client, because the daemon is stopping.
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

    // MARK: - Results from the arbiter

    func notify(_ id: AudioSessionID, _ notice: AudioNotice) {
        switch notice {
        case .interruptionBegan, .mediaServicesWereLost, .mediaServicesWereReset: holders[id]?.isReportedActive = false
        case .interruptionEnded, .routeChanged, .inputAvailabilityChanged, .secondaryAudioShouldBeSilenced: break
        }
        send(AudioNoticeMessage(notice), to: id)
    }

    /// Answers the session's oldest request.
    func answer(_ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>) {
        guard let request = holders[id]?.open.first else { return }
        holders[id]?.open.removeFirst()
        conclude(request, id, result)
    }

    /// Answers a refused request. The arbiter refuses at once, so it is the newest open request.
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
        // The session becomes inactive even if players were busy.
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

    /// Closes the session if its client doesn't read.
    private func send(_ message: AudioNoticeMessage, to id: AudioSessionID) {
        if let stream = holders[id]?.stream, !stream.send(controlLine(message)) { close(id) }
    }

    // MARK: - The route

    /// Answers with the audio status as soon as the server is connected or known to be unavailable.
    func answerConnected(_ exchange: any HTTPExchange) throws(RingwakeError) {
        let status = AudioStatusMessage(audio)
        guard status.isUndecided else { return exchange.respond(.success(status)) }
        try requireRoom()
        // Opening a session makes the daemon connect to the server. The session plays nothing, so it changes nothing
        // there.
        let (id, session) = (ObjectIdentifier(exchange), try nextSession())
        waiting[id] = (exchange, session)
        exchange.onClose = { [weak self] in
            if self?.waiting.removeValue(forKey: id) != nil { self?.audio.submit(.closed(session)) }
        }
        audio.submit(.opened(session, AudioClient(name: "a look at the route"), hasLease: false))
    }

    /// Chooses an output. The answer is the audio status, or why the output can't be chosen.
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

    /// Answers the clients that wait for the server, if its state is known.
    func update() {
        guard !waiting.isEmpty else { return }
        let status = AudioStatusMessage(audio)
        guard !status.isUndecided else { return }
        let answered = waiting.values
        waiting = [:]
        for (exchange, session) in answered {
            audio.submit(.closed(session))
            exchange.respond(.success(status))
        }
    }

    /// Name of a client: the one it gave, else its app's, else its process's.
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
    /// Answers with the error of an audio session.
    func respond(_ error: AudioSessionError) {
        respond(status: error.code.errorCode.httpStatus, json: controlJSON(ErrorMessage(error)))
    }
}
