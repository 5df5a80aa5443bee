/// Everything that the coordinator can ask its driver to do.
package indirect enum Effect: Hashable, Sendable {
    /// Start the app's handler with this call. It does not wait for the disk.
    case wake(WakeRequest)
    /// Send this to the connected handler.
    case deliver(WakeRequest)
    /// The handler that connected by itself has this id from now on.
    case connected(WakeID)
    /// Send these to the handler that fetches.
    case fetched([WakeRequest])
    /// Notify the handler that a push of this call can be fetched.
    case pushWaits(WakeID, CallKey, WakeRequest.Kind)
    /// Stop the handler's process, with its children.
    case stopHandler(WakeID)
    /// The handler has no calls left and should exit by itself soon.
    case releaseHandler(WakeID)
    /// The handler has a call again.
    case retainHandler(WakeID)
    /// Request an action from this call's handler, which must answer before the deadline.
    case request(PendingAction, CallKey)
    /// Store the push, together with its call's current record and the payloads that the journal may not have yet. Then
    /// answer its sender. `replaced` is the record of the call whose place it took: it is stored in the same commit, or
    /// a kill in between would lose both calls, or ring both.
    case journalPush(PushRecord, payloads: [CallPayload], call: CallRecord?, replaced: CallRecord? = nil)
    /// Record durably that the call rings, and report the result. It rings only then.
    case journalRing(CallRecord)
    /// A call changed: store its ``Call/journalRecord``, and notify observers. The value is the call right after the
    /// change.
    case callChanged(Call)
    /// A push was accepted, but changed nothing.
    case pushIgnored(VerifiedPush, CallKey, PushOutcome)
    /// A handler failed in this call.
    case strike(CallKey, HandlerFailure)
    /// The network changed while the call's handler has media or a ringing peer: notify the handler. It may have to
    /// announce its new address (a re-INVITE, RFC 3261 section 14).
    case reportPath(CallKey)
    /// True: after this strike, the app's handlers are no longer started. False: they are started again.
    case struckOut(AppID, Bool)
    /// The app's strikes or handlers changed: store them. At most once per event, and last.
    case appChanged(AppID)
    /// The call changed in a way that its state does not show: store its record.
    case callNoted(Call)
    /// The call's audio session changed: notify its handler.
    case reportAudio(Call, CallAudioChange)
    /// The user's request to this call was dropped, because another call could not be held or ended. The call is
    /// unchanged.
    case othersStayed(CallKey)
    /// A rule kept a call from ringing.
    case restricted(CallKey, Restriction)
    /// A call ended without being answered or declined. Its handler may not notify the user, so the daemon may.
    case callMissed(Call)
    /// The event did not fit and changed nothing: report that to its sender.
    case refused(EventRefusal)

    var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }

    /// Whether it brings a call to a handler. It does not wait for the disk then.
    var isWake: Bool {
        switch self {
        case .wake, .deliver: true
        default: false
        }
    }
}

/// Why an event was refused.
package enum EventRefusal: Error, Hashable, Sendable {
    /// There is no such call, neither in progress nor among the last that ended.
    case unknownCall(CallKey)
    /// The call's state does not allow it.
    case wrongState(CallKey, CallStateMachine.State)
    /// The call belongs to another handler.
    case notOwned(CallKey)
    /// No such handler runs.
    case unknownHandler(WakeID)
    /// The maximum number of calls in progress is reached, of this app or of all.
    case tooManyCalls(AppID)
    /// The pushes to this app's device token start calls too fast, or it begins calls too fast.
    case tooManyPushes(AppID)
    /// The maximum number of self-connected handlers of the app is reached.
    case tooManyHandlers(AppID)
    /// The user's request failed: another call had to be held or ended first, and was not.
    case othersStay(CallKey)
    /// The call's handler has not yet answered a request for this action or its opposite, or has too many requests.
    case alreadyAsked(CallKey, CallAction)
    /// The call has lost its handler, and none has claimed it.
    case unclaimed(CallKey)
    /// These digits cannot be played.
    case badDigits(CallKey)
    /// The app's handler has too many strikes and is not started, so nothing could answer or begin the call.
    case struckOut(AppID)
    /// A call with this key is there already.
    case knownCall(CallKey)
    /// The handler can't do this in the call, as it has said.
    case unsupported(CallKey, CallAction)
    /// The call belongs to another handler than the call that it was to be merged with.
    case otherHandler(CallKey)
    /// The app's policy leaves it to the user to let the microphone be heard.
    case notForApp(CallKey)
    /// The device has a cellular call, so no other one can be begun.
    case cellularCall(CallKey)
}

extension EventRefusal {
    init(_ refusal: CallStateMachine.Refusal, _ key: CallKey) {
        self =
            switch refusal.why {
            case .state: .wrongState(key, refusal.state)
            case .alreadyAsked(let action): .alreadyAsked(key, action)
            case .unclaimed: .unclaimed(key)
            case .badDigits: .badDigits(key)
            }
    }
}
