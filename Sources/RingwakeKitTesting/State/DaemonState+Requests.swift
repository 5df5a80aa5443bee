internal import ControlProtocol
internal import RingwakeCore
internal import RingwakeKit

/// Where the answer to a request goes: one of both is called, once, outside of the lock.
struct Reply: Sendable {
    let answered: @Sendable (ControlAnswer) -> Void
    /// The daemon ended before it had answered.
    let dropped: @Sendable () -> Void
}

/// Who sent a request.
private enum Caller {
    /// The daemon's user.
    case owner
    /// The handler with this secret.
    case handler(WakeID)
    /// Another user.
    case stranger
}

// The control API, as far as an app uses it; answered as the daemon answers.
extension DaemonState {
    /// Answers a request, at once or when it is settled what became of it.
    mutating func answer(_ request: ControlRequest, _ reply: Reply) {
        do throws(RingwakeError) {
            guard let path = ControlPath(request.target), path.parts.first == "v1" else {
                throw RingwakeError(.notFound, "there is nothing at \(request.target)")
            }
            let caller = try caller(request)
            let parts = Array(path.parts.dropFirst())
            switch (request.method, parts.first, parts.count) {
            case ("POST", "calls", 3): try act(parts, request, caller, reply)
            case ("GET", "calls", 2): respond(try message(of: parts[1], caller), reply)
            case ("GET", "calls", 1): respond(try calls(caller), reply)
            case ("GET", "apps", 3): respond(json: try appPart(parts, caller), reply)
            case (_, "lists", _), (_, "imports", _):
                guard case .owner = caller else { throw Self.ownersOnly }
                let judge = CallerJudge(app: app, rules: rules, now: now, moment: moment)
                respond(json: try lists.answer(request.method, parts, path.query, request.body ?? [], judge), reply)
            default: throw RingwakeError(.notFound, "there is nothing at \(request.target) of a simulated daemon")
            }
        } catch {
            outbox.append { reply.answered(ControlAnswer(error)) }
        }
    }

    /// Opens the stream of a handler.
    mutating func open(_ request: ControlRequest, _ stream: PendingStream) throws(RingwakeError) {
        guard let path = ControlPath(request.target), path.parts == ["v1", "apps", app.rawValue, "handler"] else {
            throw RingwakeError(
                .notFound, "no app is configured at \(request.target); this simulated daemon has \(app) alone")
        }
        let wake: WakeID?
        switch try caller(request) {
        case .handler(let known): wake = known
        case .owner: wake = nil
        case .stranger: throw Self.ownersOnly
        }
        if let refusal = keepHandler(stream, wake: wake) { throw refusal.error("keeping a connection") }
    }

    private func caller(_ request: ControlRequest) throws(RingwakeError) -> Caller {
        guard let secret = request.secret else { return settings.isOwner ? .owner : .stranger }
        guard let wake = wake(ofSecret: secret) else {
            throw RingwakeError(
                .notPermitted, "the wake secret is not in force: it ends with the handler that it was given to")
        }
        return .handler(wake)
    }

    private static var ownersOnly: RingwakeError {
        RingwakeError(.notPermitted, "only root and the user that ringwaked runs as may do this")
    }

    // MARK: - Calls

    private mutating func act(
        _ parts: [String], _ request: ControlRequest, _ caller: Caller,
        _ reply: Reply
    ) throws(RingwakeError) {
        let key = key(parts[1])
        guard coordinator.call(key) != nil else { throw Self.noCall(parts[1]) }
        guard let verb = CallVerb(rawValue: parts[2]) else {
            throw RingwakeError(.notFound, "a call takes no '\(parts[2])'")
        }
        var wake: WakeID?
        switch caller {
        case .owner: break
        case .stranger: throw Self.ownersOnly
        case .handler(let known):
            wake = known
            guard verb.isHandlers else {
                throw RingwakeError(.notPermitted, "'\(verb.rawValue)' is the user's to say, not the handler's")
            }
        }
        let event = try verb.event(on: key, by: wake, body: request.body ?? []) { update in
            restriction(ofReport: &update, of: key)
        }
        if let refusal = submit(event).refusal { throw refusal.error("'\(verb.rawValue)'") }
        let arrival = coordinator.call(key).map { self.arrival(of: $0) } ?? ""
        let now = now
        whenSettled(key, dropped: reply.dropped) { result in
            let answer =
                switch result {
                case .success(let call): ControlAnswer(CallMessage(call, pid: nil, receivedAt: arrival, at: now))
                case .failure(let refusal): ControlAnswer(refusal.error("'\(verb.rawValue)'"))
                }
            return { reply.answered(answer) }
        }
    }

    private func message(of id: String, _ caller: Caller) throws(RingwakeError) -> CallMessage {
        if case .stranger = caller { throw Self.ownersOnly }
        guard let call = coordinator.call(key(id)) else { throw Self.noCall(id) }
        return message(of: call)
    }

    private func message(of call: Call) -> CallMessage {
        CallMessage(call, pid: nil, receivedAt: arrival(of: call), at: now)
    }

    private func calls(_ caller: Caller) throws(RingwakeError) -> CallListMessage {
        if case .stranger = caller { throw Self.ownersOnly }
        let running = coordinator.active.values.sorted { $0.number > $1.number }
        let over = coordinator.finished.sorted { $0.number > $1.number }
        return CallListMessage(calls: (running + over).map { message(of: $0) })
    }

    private static func noCall(_ id: String) -> RingwakeError { RingwakeError(.notFound, "no call '\(id)'") }

    // MARK: - The app

    private mutating func appPart(_ parts: [String], _ caller: Caller) throws(RingwakeError) -> [UInt8] {
        if case .stranger = caller { throw Self.ownersOnly }
        guard parts[1] == app.rawValue else { throw RingwakeError(.notFound, "no app '\(parts[1])' is configured") }
        switch parts[2] {
        case "credentials": return controlJSON(credentials)
        case "pushes":
            guard case .handler(let wake) = caller else {
                let waiting = coordinator.active.values.filter(\.pushes.hasUnfetched).sorted { $0.number < $1.number }
                return controlJSON(CallListMessage(calls: waiting.map { message(of: $0) }))
            }
            let outcome = submit(.pushesFetched(wake))
            if let refusal = outcome.refusal { throw refusal.error("fetching") }
            return WaitingMessage.json(outcome.handedOver, at: now)
        default: throw RingwakeError(.notFound, "there is nothing at '\(parts[2])' of a simulated daemon")
        }
    }

    private var credentials: CredentialsMessage {
        CredentialsMessage(
            app: app.rawValue, topic: Topic.voip(of: app).rawValue, teams: [SimulatedDaemon.team],
            credentials: tokens.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                CredentialsMessage.Credential(environment: $0.key.rawValue, token: $0.value.hex)
            })
    }

    // MARK: - Answers

    private mutating func respond(_ message: some Encodable, _ reply: Reply) {
        respond(json: controlJSON(message), reply)
    }

    private mutating func respond(json: [UInt8], _ reply: Reply) {
        outbox.append { reply.answered(ControlAnswer(status: 200, body: json)) }
    }
}

extension ControlAnswer {
    init(_ message: some Encodable) {
        self.init(status: 200, body: controlJSON(message))
    }

    /// A refusal, as the daemon words it.
    init(_ error: RingwakeError) {
        self.init(
            status: error.code.httpStatus,
            body: controlJSON(ErrorMessage(error: error.code.slug, message: error.message)))
    }
}
