package import RingwakeCore

/// Everything that the call service asks of its driver. The driver runs effects in order.
package indirect enum ServiceEffect: Sendable {
    // Clients

    /// Answer this request with JSON.
    case respond(RequestID, status: Int, json: [UInt8])
    /// Answer this request with the bytes that an app keeps.
    case respondBytes(RequestID, [UInt8])
    /// Begin an answer of JSON lines.
    case begin(RequestID)
    /// Send lines of a begun answer. `isPush`: a handler waits for them to ring, so they leave at once.
    case send(RequestID, [UInt8], isPush: Bool = false)
    /// End a begun answer.
    case end(RequestID)
    /// Another part of the daemon answers this request. The caller has the right to make it.
    case forward(ServiceRequest)

    // Pushes and the journal

    /// Refuse the push of this request.
    case refuse(RequestID, PushRefusal)
    /// Make the push durable together with its call and the payloads that the journal may not have yet; then answer the
    /// sender, and report `pushJournaled`.
    case append(PushRecord, payloads: [CallPayload], call: CallRecord?, for: RequestID?)
    /// Make durable that the call is to ring, and report `ringJournaled` or `ringNotJournaled`.
    case appendRing(CallRecord)
    /// Write the call's record.
    case write(CallRecord, WriteUrgency)
    /// Resume when everything written before is durable, or when the disk fails or hangs.
    case barrier(then: ServiceEvent.Continuation)
    /// Read calls, newest first.
    case readCalls(CallQuery, then: @Sendable (Result<[JournaledCall], RingwakeError>) -> ServiceEvent)
    /// Read pushes, newest first.
    case readPushes(PushQuery, then: @Sendable (Result<[JournaledPush], RingwakeError>) -> ServiceEvent)
    /// Run a command on the lists of callers. A change counts when it is reported.
    case lists(CallerListCommand, then: @Sendable (Result<CallerListResult, RingwakeError>) -> ServiceEvent)
    /// Make durable what an app keeps with the daemon; nil deletes it.
    case storeState([UInt8]?, of: AppID, then: @Sendable (Result<Void, RingwakeError>) -> ServiceEvent)
    /// Make the do-not-disturb rules durable.
    case storeDoNotDisturb(DoNotDisturb, then: @Sendable (Result<Void, RingwakeError>) -> ServiceEvent)

    // Handlers

    /// Start the app's handler with this call and this secret. It does not wait for the disk.
    case start(WakeRequest, secret: String)
    /// Stop the handler's process with its children.
    case stop(WakeID)
    /// The handler has no call anymore: it should exit soon.
    case release(WakeID)
    /// The handler has a call again.
    case retain(WakeID)

    // People

    /// For the log, the counters and the device. The streams have it already.
    case note(Effect)
    /// The payload does not match the app's `[payload]`.
    case payloadProblem(VerifiedPush, String)
}

extension Call {
    /// How soon the journal must have what changed.
    var writeUrgency: WriteUrgency {
        switch machine.state {
        // Its push or its ring makes a commit of its own; and that it rings follows from the record before.
        case .queued, .confirmed: .withNext
        case .woken where attempt <= 1: .withNext
        case .ringing where machine.lease == .taken: .withNext
        default: .now
        }
    }
}
