package import RingwakeCore

/// Everything that the call service can ask its driver to do. The driver runs effects in order.
package indirect enum ServiceEffect: Sendable {
    // Clients

    /// Answer this request with JSON.
    case respond(RequestID, status: Int, json: [UInt8])
    /// Refuse this request with 429 and JSON: the client has asked too often, and may ask again after this time.
    case refuseForNow(RequestID, Duration, json: [UInt8])
    /// Answer this request with an app's stored state.
    case respondBytes(RequestID, [UInt8])
    /// Begin an answer of JSON lines.
    case begin(RequestID)
    /// Send lines of a begun answer. `isPush`: the lines deliver a push to a handler, so send them immediately.
    case send(RequestID, [UInt8], isPush: Bool = false)
    /// End a begun answer.
    case end(RequestID)
    /// Forward this request to another part of the daemon, which answers it. The caller's permission has been checked.
    case forward(ServiceRequest)

    // Pushes and the journal

    /// Refuse the push of this request.
    case refuse(RequestID, PushRefusal)
    /// Make the push durable, together with its call, the payloads that the journal may not have yet, and the end of
    /// the call that it replaces. Then answer the sender with this outcome, and report `pushJournaled`.
    case append(
        PushRecord, payloads: [CallPayload], call: CallRecord?, replaced: CallRecord?, answer: PushOutcome,
        for: RequestID?)
    /// Record durably that the call rings, and report `ringJournaled` or `ringNotJournaled`.
    case appendRing(CallRecord)
    /// Write the call's record.
    case write(CallRecord, WriteUrgency)
    /// Resume when everything written before is durable, or when the disk fails or hangs.
    case barrier(then: ServiceEvent.Continuation)
    /// Read calls, newest first.
    case readCalls(CallQuery, then: @Sendable (Result<[JournaledCall], RingwakeError>) -> ServiceEvent)
    /// Read pushes, newest first.
    case readPushes(PushQuery, then: @Sendable (Result<[JournaledPush], RingwakeError>) -> ServiceEvent)
    /// Run a command on the lists of callers. Lookups use a change once it is reported.
    case lists(CallerListCommand, then: @Sendable (Result<CallerListResult, RingwakeError>) -> ServiceEvent)
    /// Make an app's state durable; nil deletes it.
    case storeState([UInt8]?, of: AppID, then: @Sendable (Result<Void, RingwakeError>) -> ServiceEvent)
    /// Write how the restoration of an app's state goes, with the next commit, which is due now.
    case storeRestoration(SavedStates.Record, of: AppID)
    /// Remove an app's state with the next commit, which is due now, and write why.
    case dropState(of: AppID, SavedStates.Record)
    /// Make the do-not-disturb rules durable.
    case storeDoNotDisturb(DoNotDisturb, then: @Sendable (Result<Void, RingwakeError>) -> ServiceEvent)

    // Handlers

    /// Start the app's handler with this call and this secret. It does not wait for the disk.
    case start(WakeRequest, secret: String)
    /// Stop the handler's process with its children.
    case stop(WakeID)
    /// The handler has no calls left and should exit soon.
    case release(WakeID)
    /// The handler has a call again.
    case retain(WakeID)

    // People

    /// For the log, the counters and the device. The streams have got it already.
    case note(Effect)
    /// A sender's wall clock is so far behind this device's.
    case senderClock(String, behind: Duration)
    /// The payload does not match the app's `[payload]`.
    case payloadProblem(VerifiedPush, String)
}

extension Call {
    /// How soon the journal must write the change.
    var writeUrgency: WriteUrgency {
        switch machine.state {
        // The push or the ring of the call needs its own commit anyway. That the call rings follows from the earlier
        // record.
        case .queued where machine.isOutgoing: .now
        case .queued, .confirmed: .withNext
        case .woken where attempt <= 1: .withNext
        case .ringing where machine.lease == .taken: .withNext
        default: .now
        }
    }
}
