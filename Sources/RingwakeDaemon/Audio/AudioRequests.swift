internal import CallService
internal import ControlProtocol
internal import HTTPServer
internal import RingwakeCore

/// `/v1/audio`: the audio status, and the sessions of clients.
struct AudioRequests {
    let audio: AudioService
    let calls: CallDriver

    func answer(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        switch (request.parts.dropFirst().first, request.parts.count) {
        case (nil, _):
            try request.require("GET")
            _ = try request.caller.confinedApp(asked: nil)
            exchange.respond(.success(AudioStatusMessage(audio)))
        case ("route", 2): try audioRoute(request, exchange)
        case ("sessions", 2): try audioSessions(request, exchange)
        case ("sessions", 3): try configureAudio(request, exchange)
        case ("sessions", 4): try actOnAudio(request, exchange)
        default: throw RingwakeError(.notFound, "there is nothing at \(request.target)")
        }
    }

    private func audioRoute(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.caller.requirePerson()
        guard request.method == "POST" else {
            try request.require("GET")
            return try audio.clients.answerConnected(exchange)
        }
        try request.require("POST")
        let choice = try request.decode(AudioRouteChoice.self, empty: nil)
        guard let output = fitting(exchange, { () throws(AudioSessionError) in try choice.validated() }) else { return }
        guard audio.program.way != nil else {
            throw RingwakeError(
                .conflict,
                "no output was chosen: [audio] backend is \"none\", so the daemon uses no audio server; set "
                    + "backend = \"program\" in ringwaked.toml(5)")
        }
        try audio.clients.choose(output, exchange)
    }

    private func audioSessions(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let app = try request.caller.confinedApp(asked: nil)
        guard request.method == "POST" else {
            try request.require("GET")
            return exchange.respond(.success(AudioSessionListMessage(sessions: audio.clients.list(for: app))))
        }
        try request.require("POST")
        let opening = try request.decode(AudioSessionOpening.self, empty: .empty)
        guard
            let configuration = fitting(
                exchange, { () throws(AudioSessionError) in try opening.configuration() })
        else { return }
        try audio.clients.open(
            opening, configuration,
            for: AudioClients.Owner(
                app: app, process: request.peer.pid, hasLease: hasAudioLease(request.caller) ?? true),
            exchange)
    }

    private func configureAudio(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("PUT")
        guard let id = try audioSession(request, exchange) else { return }
        let body = try request.decode(AudioConfigurationBody.self, empty: nil)
        guard let configuration = fitting(exchange, { () throws(AudioSessionError) in try body.configuration() })
        else { return }
        audio.clients.ask(id, .configured(id, configuration), exchange)
    }

    private func actOnAudio(_ request: ServiceRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        let (verb, clients) = (request.parts[3], audio.clients)
        try request.require("POST", parameters: verb == "deactivate" ? ["notifyOthers"] : [])
        guard let id = try audioSession(request, exchange) else { return }
        switch verb {
        case "activate":
            clients.setLease(id, hasAudioLease(request.caller))
            clients.ask(id, .activationRequested(id), exchange)
        case "deactivate":
            let notifies = try request.flag("notifyOthers")
            clients.ask(id, .deactivationRequested(id, notifiesOthers: notifies), exchange)
        case "speaker":
            let body = try request.decode(AudioSpeakerOverride.self, empty: nil)
            clients.overrideOutput(id, isSpeaker: body.on, exchange)
        default:
            throw RingwakeError(
                .notFound, "an audio session takes activate, deactivate and speaker, not '\(verb)'")
        }
    }

    /// The session that the path names; nil if the request has been answered with an error.
    private func audioSession(
        _ request: ServiceRequest, _ exchange: any HTTPExchange
    ) throws(RingwakeError) -> AudioSessionID? {
        let app = try request.caller.confinedApp(asked: nil)
        let text = request.parts[2]
        if UInt64(text).map({ $0 < AudioSessionID.firstClient.number }) == true {
            exchange.respond(
                AudioSessionError(
                    .missingEntitlement,
                    "the session of a call is the daemon's; its handler says what it is by /v1/calls/ID/audio"))
            return nil
        }
        return try audio.clients.session(text, for: app)
    }

    /// Whether the calling handler may interrupt others: it is connected or has a call. Nil for the owner and members, who
    /// always may.
    private func hasAudioLease(_ caller: Caller) -> Bool? {
        guard case .handler(let app, let wake) = caller else { return nil }
        guard let handler = calls.coordinator.lanes[app]?.handlers[wake] else { return false }
        return handler.isConnected || !handler.calls.isEmpty
    }

    /// The result of `make`; nil if it threw, and the exchange was answered with the error.
    private func fitting<Value>(
        _ exchange: any HTTPExchange, _ make: () throws(AudioSessionError) -> Value
    ) -> Value? {
        do throws(AudioSessionError) {
            return try make()
        } catch {
            exchange.respond(error)
            return nil
        }
    }
}
