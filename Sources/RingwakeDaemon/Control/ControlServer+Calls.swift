internal import ControlProtocol
internal import HTTPServer
internal import PushJournal
internal import RingwakeCore

// `/v1/calls`: the calls that run, the call log, and what is done to a call.
extension ControlServer {
    func calls(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app", "missed", "limit", "before"])
        let log = CallLog(
            app: try request.app(), missedOnly: try request.flag("missed"), page: try request.page(),
            whileRunning: runner.coordinator)
        journal.calls(log.query) { [self] result in
            let (entries, next, incomplete) = log.page(of: result, and: runner.coordinator)
            let isWithRunning = !log.missedOnly && log.page.before == nil
            let running = isWithRunning ? log.running(in: runner.coordinator) : []
            let clock = WallTimes(at: runner.now)
            let over = entries.map { entry in
                switch entry {
                case .remembered(let call): message(of: call, clock)
                case .journaled(let call): CallMessage(call)
                }
            }
            exchange.respond(
                .success(CallListMessage(calls: messages(of: running) + over, next: next, incomplete: incomplete)))
        }
    }

    func call(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("GET", parameters: ["app"])
        let (id, app) = (request.parts[1], try request.app())
        if let call = try known(id, app) {
            return exchange.respond(.success(message(of: call)))
        }
        journal.calls(CallQuery(app: app, id: CallID(id))) { result in
            exchange.respond(
                result.flatMap { calls in
                    guard let call = calls.first else { return .failure(ControlServer.noCall(id)) }
                    guard calls.count == 1 else {
                        return .failure(ControlServer.severalApps(id, calls.map(\.record.key.app)))
                    }
                    return .success(CallMessage(call))
                })
        }
    }

    /// The call of this id that runs or is remembered; nil when there is none.
    ///
    /// - Parameter runningFirst: whether one that runs comes before those of other apps that are over: nothing can be
    ///   done to these.
    private func known(_ id: String, _ app: AppID?, runningFirst: Bool = false) throws(RingwakeError) -> Call? {
        var found = runner.calls(named: CallID(id)).filter { app == nil || $0.key.app == app }
        if runningFirst, found.contains(where: { !$0.machine.hasEnded }) {
            found.removeAll { $0.machine.hasEnded }
        }
        guard found.count <= 1 else { throw ControlServer.severalApps(id, found.map(\.key.app)) }
        return found.first
    }

    private static func noCall(_ id: String) -> RingwakeError {
        RingwakeError(.notFound, "no call '\(id)'; 'ringwake call list' shows those that run and the call log")
    }

    private static func severalApps(_ id: String, _ apps: [AppID]) -> RingwakeError {
        let names = apps.map(\.rawValue).sorted().joined(separator: ", ")
        return RingwakeError(.conflict, "several apps have a call '\(id)': \(names); name one with app=")
    }

    func message(of call: Call) -> CallMessage { message(of: call, WallTimes(at: runner.now)) }

    func messages(of calls: [Call]) -> [CallMessage] {
        let clock = WallTimes(at: runner.now)
        return calls.map { message(of: $0, clock) }
    }

    private func message(of call: Call, _ clock: WallTimes) -> CallMessage {
        CallMessage(call, pid: runner.coordinator.process(of: call), clock)
    }
}

// MARK: - What is done to a call

extension ControlServer {
    func act(_ request: ControlRequest, _ exchange: any HTTPExchange) throws(RingwakeError) {
        try request.require("POST", parameters: ["app"])
        guard let call = try known(request.parts[1], try request.app(), runningFirst: true) else {
            throw ControlServer.noCall(request.parts[1])
        }
        guard let verb = CallVerb(rawValue: request.parts[2]) else {
            let verbs = CallVerb.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.notFound, "a call takes \(verbs), not '\(request.parts[2])'")
        }
        if case .handler = request.caller, !verb.isHandlers {
            throw RingwakeError(.notPermitted, "'\(verb.rawValue)' is the user's to say, not the handler's")
        }
        if let refusal = runner.submit(try event(verb, on: call.key, request)) {
            throw refusal.error("'\(verb.rawValue)'")
        }
        // Whether a confirmed call rings is for the journal to say, and whether another call can be held for its handler;
        // every other verb has done what it does.
        runner.whenSettled(call.key) { [self] result in
            let answer: Result<any Encodable, RingwakeError> =
                result.mapError { $0.error("'\(verb.rawValue)'") }.map { message(of: $0) }
            guard case .success = answer, verb == .end || verb == .decline else { return exchange.respond(answer) }
            // What the user ended stays ended, also when the daemon dies right after it has said so. A disk that fails
            // or hangs keeps nobody from hanging up.
            journal.whenDurable { exchange.respond(answer) }
        }
    }

    private func event(
        _ verb: CallVerb, on key: CallKey, _ request: ControlRequest
    ) throws(RingwakeError) -> Event {
        let wake = request.caller.wake
        switch verb {
        case .ring: return .ringConfirmed(key, by: wake)
        case .answer: return .answerRequested(key, others: try others(request))
        case .decline: return .declineRequested(key)
        case .end: return .endRequested(key)
        case .hold: return .holdRequested(key, true)
        case .unhold: return .holdRequested(key, false, others: try others(request))
        case .mute: return .muteRequested(key, true)
        case .unmute: return .muteRequested(key, false)
        case .dtmf: return .digitsRequested(key, try digits(request))
        case .claim:
            guard let wake else {
                throw RingwakeError(.notPermitted, "a call is claimed by a handler, with the secret of its wake")
            }
            return .claimed(key, by: wake)
        case .report:
            let report = try request.decode(CallReport.self, empty: CallReport())
            var update = try report.update()
            let restriction = runner.restriction(ofReport: &update, of: key)
            return .reported(key, update, ring: report.ring ?? false, by: wake, restriction)
        case .fulfill: return .fulfilled(key, try action(request), by: wake)
        case .fail: return .actionFailed(key, try action(request), by: wake)
        case .ended:
            let name = try request.decode(CallEnding.self, empty: CallEnding()).reason ?? "remoteEnded"
            guard let reason = CallEndReason(rawValue: name), CallEndReason.reportable.contains(reason) else {
                let reasons = CallEndReason.reportable.map(\.rawValue).sorted().joined(separator: ", ")
                throw RingwakeError(.invalidRequest, "a handler ends a call with one of \(reasons), not '\(name)'")
            }
            return .remoteEnded(key, reason, by: wake)
        }
    }

    private func others(_ request: ControlRequest) throws(RingwakeError) -> OtherCalls? {
        guard let name = try request.decode(CallAnswer.self, empty: CallAnswer()).others else { return nil }
        guard let others = OtherCalls(rawValue: name) else {
            throw RingwakeError(.invalidRequest, "'others' is 'hold' or 'end', not '\(name)'")
        }
        return others
    }

    private func digits(_ request: ControlRequest) throws(RingwakeError) -> String {
        let digits = try request.decode(CallDigits.self, empty: nil).digits
        guard PendingAction.areDigits(digits) else {
            throw RingwakeError(
                .invalidRequest, "'digits' is 1 to 32 of 0-9, *, #, A-D and ',' for a pause, not '\(digits)'")
        }
        return digits
    }

    private func action(_ request: ControlRequest) throws(RingwakeError) -> CallAction {
        let name = try request.decode(ActionResult.self, empty: nil).action
        guard let action = CallAction(rawValue: name) else {
            let actions = CallAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw RingwakeError(.invalidRequest, "'action' is one of \(actions), not '\(name)'")
        }
        return action
    }
}

extension CallReport {
    /// What the report says of the call, its texts as they are kept: like those of a payload.
    ///
    /// A text that is too long is cut, not refused: a handler that does not look at the answer would lose the call.
    func update() throws(RingwakeError) -> CallUpdate {
        CallUpdate(
            caller: try kept(caller, "caller"), callerName: try kept(callerName, "callerName"), hasVideo: video)
    }

    private func kept(_ text: String?, _ name: String) throws(RingwakeError) -> String? {
        guard let text else { return nil }
        do throws(ShownText.ZeroByte) {
            return try ShownText.kept(text)
        } catch {
            throw RingwakeError(.invalidRequest, "'\(name)' holds a zero byte (U+0000); leave it out")
        }
    }
}

extension EventRefusal {
    /// The refusal as the control API tells it.
    ///
    /// - Parameter doing: what was refused, as the subject of a sentence.
    func error(_ doing: String) -> RingwakeError {
        switch self {
        case .unknownCall(let key):
            RingwakeError(.notFound, "no call '\(key.id)' of \(key.app)")
        case .wrongState(let key, let state):
            RingwakeError(
                .conflict,
                "call '\(key.id)' is \(state.name.rawValue)\(state.endReason.map { " (\($0))" } ?? ""); "
                    + "\(doing) does not fit that state")
        case .notOwned(let key):
            RingwakeError(.notPermitted, "call '\(key.id)' of \(key.app) belongs to another handler")
        case .unknownHandler:
            RingwakeError(.notPermitted, "the handler that this secret was given to has ended")
        case .tooManyCalls(let app):
            RingwakeError(.limitReached, "as many calls of \(app) run as may")
        case .tooManyHandlers(let app):
            RingwakeError(.limitReached, "as many handlers of \(app) keep a connection as may; close one")
        case .othersStay(let key):
            RingwakeError(
                .conflict,
                "another call could not be held or ended for '\(key.id)', so nothing was changed; "
                    + "end the other one first")
        case .alreadyAsked(let key, let action):
            RingwakeError(
                .conflict,
                "the handler of call '\(key.id)' is being asked for \(action.rawValue), or has enough to do; wait")
        case .unclaimed(let key):
            RingwakeError(.conflict, "call '\(key.id)' has lost its handler, and none has claimed it yet")
        case .badDigits:
            RingwakeError(.invalidRequest, "digits are 1 to 32 of 0-9, *, #, A-D and ',' for a pause")
        case .struckOut(let app):
            RingwakeError(
                .conflict,
                "the handler of \(app) has too many strikes and is not started; "
                    + "'ringwake app clear-strikes \(app)' gives it another chance")
        }
    }
}
