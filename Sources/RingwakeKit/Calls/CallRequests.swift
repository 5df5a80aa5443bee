internal import ControlProtocol
internal import RingwakeCore

/// The requests of a handler about its calls.
struct CallRequests: Sendable {
    let requests: DaemonRequests

    func report(_ call: Call.ID, _ update: CallUpdate, ringing: Bool) async throws(CallError) {
        try await own(call, .report, controlJSON(CallReport(update, ring: ringing))) {
            ringing ? $0.callState.hasRung : $0.callState.isReported
        }
    }

    func ring(_ call: Call.ID) async throws(CallError) {
        let message = try await send(call, .ring) { $0.callState.hasRung }
        if let error = message.endError { throw error }
    }

    func update(_ call: Call.ID, _ update: CallUpdate) async throws(CallError) {
        let report = CallReport(update)
        // As in CallKit, an update that says nothing is no error. The daemon would refuse it.
        guard report != CallReport() else { return }
        let message = try await send(call, .update, controlJSON(report)) { _ in true }
        if let error = message.endError { throw error }
    }

    /// Reports how far an outgoing call is: the verb `connecting` or `connected`.
    func reportOutgoing(_ call: Call.ID, _ verb: CallVerb) async throws(CallError) {
        let message = try await send(call, verb) { verb == .connected ? $0.callState.hasConnected : true }
        if let error = message.endError { throw error }
    }

    /// Begins a call.
    ///
    /// - Parameter sender: a handler begins calls of its own app only.
    func start(_ body: CallStart, by sender: ControlRequest.Sender) async throws(CallError) -> Call {
        let request = RequestQueue.Request(sender, "POST", RequestTarget("calls"), body: controlJSON(body))
        do throws(RingwakeKitError) {
            let message: CallMessage = try await requests.answer(to: request)
            return Call(message)
        } catch {
            throw error.code == .notFound ? CallError(refused: error) : CallError(error)
        }
    }

    func configureAudio(_ call: Call.ID, _ configuration: AudioSessionConfiguration) async throws(CallError) {
        _ = try await send(call, .audio, controlJSON(AudioConfigurationBody(configuration))) { _ in true }
    }

    func claim(_ call: Call.ID) async throws(CallError) {
        try await own(call, .claim, []) { $0.claimMs == nil }
    }

    func reportEnd(_ call: Call.ID, _ reason: CallEndReason) async throws(CallError) {
        do throws(CallError) {
            _ = try await send(call, .ended, controlJSON(CallEnding(reason: reason.rawValue))) { _ in false }
        } catch {
            if !error.isEnd { throw error }
        }
    }

    /// Fulfils or fails an action.
    func answer(
        _ action: CallAction, isDone: Bool, audio: AudioSessionConfiguration? = nil
    ) async throws(CallError) {
        guard let isPending = await requests.onThread({ $0.beginAnswer(action) }) else {
            throw CallError(.isClosed)
        }
        guard isPending else { throw try await lookUp(action.call).conflict }
        let outcome: CallRegistry.AnswerOutcome
        let failure: CallError?
        do throws(CallError) {
            let name = action.kind.rawValue
            let result = ActionResult(action: name, audio: audio.map { AudioConfigurationBody($0) })
            // Fulfilling digits twice would fulfil the next group too, so don't repeat that. It is no error if this
            // ends the call.
            _ = try await send(
                action.call, isDone ? .fulfill : .fail, controlJSON(result), isRepeatable: action.kind != .dtmf
            ) { message in
                !message.pending.contains { $0.action == name } && (action.kind != .merge || message.conference != nil)
            }
            outcome = isDone ? .fulfilled : .failed
            failure = nil
        } catch {
            outcome = error.code == .noAnswer ? .unknown : .over
            failure = error
        }
        _ = await requests.onThread { $0.endAnswer(action, outcome) }
        if let failure { throw failure }
    }

    /// Sends a request that makes the call this process's own.
    private func own(
        _ call: Call.ID, _ verb: CallVerb, _ body: [UInt8], isDone: @escaping (CallMessage) -> Bool
    ) async throws(CallError) {
        guard let owning = await requests.onThread({ $0.beginOwning(call, isClaim: verb == .claim) }) else {
            throw CallError(.isClosed)
        }
        do throws(CallError) {
            let message = try await send(call, verb, body, isDone: isDone)
            if let error = message.endError { throw error }
        } catch {
            let isOthers = error.code == .notOwned
            _ = await requests.onThread { $0.endOwning(call, owning, isOthers: isOthers) }
            throw error
        }
    }

    /// - Parameter isDone: whether the call is in the state after this request. Checked if the request was repeated:
    ///   the daemon may have carried it out, and its answer was lost.
    private func send(
        _ call: Call.ID, _ verb: CallVerb, _ body: [UInt8] = [], isRepeatable: Bool = true,
        isDone: (CallMessage) -> Bool
    ) async throws(CallError) -> CallMessage {
        let target = RequestTarget("calls", call.rawValue, verb.rawValue, query: [("app", requests.app)])
        let request = RequestQueue.Request(.handler, "POST", target, body: body, isRepeatable: isRepeatable)
        let refusal: RingwakeKitError
        let wasRepeated: Bool
        do throws(RingwakeKitError) {
            let reply = try await requests.reply(to: request)
            if reply.answer.status == 200 { return try JSONText.read(reply.answer.body, "a call") }
            (refusal, wasRepeated) = (RingwakeKitError(reply.answer), reply.wasRepeated)
        } catch {
            throw CallError(error)
        }
        if refusal.code == .notPermitted { throw .notOwned(refusal.message) }
        guard refusal.code == .conflict else { throw CallError(refusal) }
        let message = try await lookUp(call)
        if wasRepeated, isDone(message) { return message }
        throw message.conflict
    }

    private func lookUp(_ call: Call.ID) async throws(CallError) -> CallMessage {
        let target = RequestTarget("calls", call.rawValue, query: [("app", requests.app)])
        do throws(RingwakeKitError) {
            return try await requests.answer(to: RequestQueue.Request(.handler, "GET", target))
        } catch {
            throw CallError(error)
        }
    }
}

extension CallReport {
    fileprivate init(_ update: CallUpdate, ring: Bool? = nil) {
        self.init(
            caller: update.caller, callerName: update.callerName, video: update.hasVideo,
            supportsHold: update.supportsHolding, supportsDTMF: update.supportsDTMF,
            supportsMerge: update.supportsMerging, ring: ring)
    }
}

extension CallMessage {
    var callState: CallState { CallState(rawValue: state) }

    /// The call's end as an error; nil while the call is in progress.
    var endError: CallError? {
        guard callState.isOver else { return nil }
        let filter = restriction.map { (by: CallFilter(rawValue: $0.kind), detail: $0.detail) }
        return .ended(reason.map { CallEndReason(rawValue: $0) } ?? .failed, filter: filter)
    }

    /// Why a request about the call was refused.
    fileprivate var conflict: CallError { endError ?? .wrongState(callState) }
}

extension Call {
    init(_ message: CallMessage) {
        self.init(
            id: ID(rawValue: message.call), app: message.app, isOutgoing: message.outgoing ?? false,
            state: message.callState, endReason: message.reason.map { CallEndReason(rawValue: $0) },
            caller: message.caller, callerName: message.callerName, hasVideo: message.video,
            identifiedAs: message.identifiedAs, isMuted: message.muted,
            supportsHolding: message.supportsHold ?? true, supportsDTMF: message.supportsDTMF ?? true,
            supportsMerging: message.supportsMerge ?? false, conference: message.conference)
    }
}
