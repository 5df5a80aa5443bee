internal import ControlProtocol
internal import RingwakeCore

// What a provider says of calls.
extension ClientPort {
    func report(_ call: String, _ update: CallUpdate, ring: Bool) async throws(CallError) {
        let report = CallReport(
            caller: update.caller, callerName: update.callerName, video: update.hasVideo, ring: ring)
        let body = try CallError.refusing { () throws(RingwakeKitError) in try JSONText.write(report) }
        try await own(call, .report, body) { ring ? $0.rings : $0.isReported }
    }

    func ring(_ call: String) async throws(CallError) {
        let message = try await say(call, .ring, []) { $0.rings }
        if let error = message.whyOver { throw error }
    }

    func configureAudio(_ call: String, _ configuration: AudioSessionConfiguration) async throws(CallError) {
        let body = try CallError.refusing { () throws(RingwakeKitError) in
            try JSONText.write(AudioConfigurationBody(configuration))
        }
        // Said twice it is the same.
        _ = try await say(call, .audio, body) { _ in true }
    }

    func claim(_ call: String) async throws(CallError) {
        try await own(call, .claim, []) { $0.claimMs == nil }
    }

    func reportEnded(_ call: String, _ reason: CallEndReason) async throws(CallError) {
        let body = try CallError.refusing { () throws(RingwakeKitError) in
            try JSONText.write(CallEnding(reason: reason.rawValue))
        }
        do throws(CallError) {
            _ = try await say(call, .ended, body) { _ in false }
        } catch .alreadyEnded {
            // It was over before, which is what was wanted.
        } catch .filtered {
            // Likewise.
        } catch .busy {
            // Likewise.
        }
    }

    /// The action is done, or cannot be.
    func answer(
        _ action: CallAction, isDone: Bool, audio: AudioSessionConfiguration? = nil
    ) async throws(CallError) {
        let isAsked = await onThread { $0.beginAnswer(action) }
        guard let isAsked else { throw .noAnswer(.isClosed) }
        guard isAsked else { throw try await standing(of: action.call) }
        let outcome: SessionStateMachine.AnswerOutcome
        let failure: CallError?
        do throws(CallError) {
            let name = action.kind.name
            let body = try CallError.refusing { () throws(RingwakeKitError) in
                try JSONText.write(ActionResult(action: name, audio: audio.map { AudioConfigurationBody($0) }))
            }
            // To fulfil digits twice would fulfil the next ones. A call that has ended by the answer is no error.
            _ = try await say(
                action.call, isDone ? .fulfill : .fail, body, isRepeatable: !action.kind.isDigits
            ) { message in !message.pending.contains { $0.action == name } }
            outcome = isDone ? .fulfilled : .failed
            failure = nil
        } catch {
            if case .noAnswer = error { outcome = .unknown } else { outcome = .over }
            failure = error
        }
        _ = await onThread { $0.endAnswer(action, outcome) }
        if let failure { throw failure }
    }

    // MARK: - Asking

    /// Says something by which the call becomes this process's.
    private func own(
        _ call: String, _ verb: CallVerb, _ body: [UInt8], isDone: @escaping (CallMessage) -> Bool
    ) async throws(CallError) {
        guard let owning = await onThread({ $0.beginOwning(call, isClaim: verb == .claim) }) else {
            throw .noAnswer(.isClosed)
        }
        do throws(CallError) {
            let message = try await say(call, verb, body, isDone: isDone)
            if let error = message.whyOver { throw error }
        } catch {
            _ = await onThread { $0.endOwning(call, owning) }
            throw error
        }
    }

    /// - Parameter isDone: whether a call stands as it does when this was said before: the answer may have been lost.
    private func say(
        _ call: String, _ verb: CallVerb, _ body: [UInt8], isRepeatable: Bool = true,
        isDone: (CallMessage) -> Bool
    ) async throws(CallError) -> CallMessage {
        let target = RequestTarget("calls", call, verb.rawValue, query: [("app", app)])
        let reply = try await CallError.refusing { () async throws(RingwakeKitError) in
            try await self.reply(
                to: RequestDesk.Request(.handler, "POST", target, body: body, isRepeatable: isRepeatable))
        }
        if reply.answer.status == 200 {
            return try CallError.refusing { () throws(RingwakeKitError) in
                try JSONText.read(reply.answer.body, "a call")
            }
        }
        let refusal = RingwakeKitError(reply.answer)
        switch refusal.code {
        case .notFound: throw .unknownCall
        case .notPermitted: throw .notOwned(refusal.message)
        case .conflict:
            let message = try await lookUp(call)
            if reply.wasRepeated, isDone(message) { return message }
            throw message.whyNot(refusal)
        default: throw .refused(refusal)
        }
    }

    private func lookUp(_ call: String) async throws(CallError) -> CallMessage {
        let target = RequestTarget("calls", call, query: [("app", app)])
        do throws(RingwakeKitError) {
            return try await ask(RequestDesk.Request(.handler, "GET", target))
        } catch {
            throw error.code == .notFound ? .unknownCall : CallError(error)
        }
    }

    /// Why an action cannot be answered any more.
    private func standing(of call: String) async throws(CallError) -> CallError {
        let message = try await lookUp(call)
        return message.whyNot(RingwakeKitError(.conflict, "the action was answered, or its time is over"))
    }
}

extension CallMessage {
    fileprivate var stands: CallState? { CallState(rawValue: state) }
    fileprivate var rings: Bool {
        switch stands {
        case .ringing, .answering, .connected, .held: true
        default: false
        }
    }
    fileprivate var isReported: Bool { stands == .reported || stands == .confirmed || rings }

    /// Nil while it goes on.
    var whyOver: CallError? {
        guard stands == .ended || stands == .ending else { return nil }
        if let restriction, let filter = CallFilter(rawValue: restriction.kind) {
            return .filtered(by: filter, detail: restriction.detail)
        }
        let reason = reason.flatMap(CallEndReason.init(rawValue:)) ?? .failed
        return reason == .busy ? .busy : .alreadyEnded(reason)
    }

    fileprivate func whyNot(_ refusal: RingwakeKitError) -> CallError {
        whyOver ?? stands.map { .wrongState($0) } ?? .refused(refusal)
    }
}

extension CallError {
    init(_ error: RingwakeKitError) {
        switch error.code {
        case .timedOut, .unreachable, .daemonNotRunning, .closed: self = .noAnswer(error)
        case .notFound: self = .unknownCall
        default: self = .refused(error)
        }
    }

    static func refusing<Value>(_ body: () throws(RingwakeKitError) -> Value) throws(CallError) -> Value {
        do throws(RingwakeKitError) {
            return try body()
        } catch {
            throw CallError(error)
        }
    }

    static func refusing<Value>(
        _ body: () async throws(RingwakeKitError) -> Value
    ) async throws(CallError) -> Value {
        do throws(RingwakeKitError) {
            return try await body()
        } catch {
            throw CallError(error)
        }
    }
}
