/// Everything that the coordinator can ask for. Indirect: an effect is passed on more often than it is read, and some hold
/// a whole call.
package indirect enum Effect: Hashable, Sendable {
    /// Start the app's handler with this call. It does not wait for the disk.
    case wake(WakeRequest)
    /// Give this to the handler that keeps a connection.
    case deliver(WakeRequest)
    /// The handler that connected by itself is this one from now on.
    case connected(WakeID)
    /// Give these to the handler that fetches them.
    case fetched([WakeRequest])
    /// Notify the handler that a push of this call waits to be fetched.
    case pushWaits(WakeID, CallKey, WakeRequest.Kind)
    /// Stop the handler's process, with its children.
    case stopHandler(WakeID)
    /// The handler has no call any more: it is to exit by itself soon.
    case releaseHandler(WakeID)
    /// The handler has something to do again.
    case retainHandler(WakeID)
    /// Ask this call's handler to do something, and to answer before the deadline.
    case request(PendingAction, CallKey)
    /// Make the push durable, together with its call as it stands and the payloads that the journal may not have yet; then
    /// answer its sender.
    case journalPush(PushRecord, payloads: [CallPayload], call: CallRecord?)
    /// Make durable that the call rings, and report the result: it rings only then.
    case journalRing(CallRecord)
    /// A call changed: store its ``Call/journalRecord``, and notify observers. The call is as it was right after
    /// the change.
    case callChanged(Call)
    /// A push was taken, but changes nothing.
    case pushIgnored(VerifiedPush, CallKey, PushOutcome)
    /// A handler did not do its part in this call.
    case strike(CallKey, HandlerFailure)
    /// The network changed under a call that its handler has media or a ringing peer for: notify the handler, which may
    /// have to say anew where it can be reached (a re-INVITE, RFC 3261 section 14).
    case reportPath(CallKey)
    /// With that strike, the app's handler is not started any more; or it is again.
    case struckOut(AppID, Bool)
    /// The app's strikes, or which handlers it has, changed: store them. At most once for an event, and last.
    case appChanged(AppID)
    /// Something of a call changed that its state does not show: store its record.
    case callNoted(Call)
    /// The call's audio session changed: notify its handler.
    case reportAudio(Call, CallAudioChange)
    /// What the user asked of this call was dropped: another one could not be held or ended for it. It is as it was.
    case othersStayed(CallKey)
    /// A call was kept out.
    case restricted(CallKey, Restriction)
    /// A call ended that nobody answered or refused: the user may be notified in place of its handler.
    case callMissed(Call)
    /// The event did not fit and changed nothing: report that to its sender.
    case refused(EventRefusal)

    var isRefusal: Bool {
        if case .refused = self { true } else { false }
    }

    /// Whether it brings a call to a handler, which does not wait for the disk.
    var isWake: Bool {
        switch self {
        case .wake, .deliver: true
        default: false
        }
    }
}

/// Why an event was refused.
package enum EventRefusal: Error, Hashable, Sendable {
    /// No such call, neither in progress nor among the last that ended.
    case unknownCall(CallKey)
    /// The call's state does not allow it.
    case wrongState(CallKey, CallStateMachine.State)
    /// The call belongs to another handler.
    case notOwned(CallKey)
    /// No such handler runs.
    case unknownHandler(WakeID)
    /// As many calls are in progress as may be: of this app, or of all.
    case tooManyCalls(AppID)
    /// As many handlers of the app keep a connection as may.
    case tooManyHandlers(AppID)
    /// The user's request could not be done: another call would have had to be held or ended first, and was not.
    case othersStay(CallKey)
    /// The call's handler is being asked for this already, or for its opposite, or has enough of it to do.
    case alreadyAsked(CallKey, CallAction)
    /// The call has lost its handler, and none has claimed it.
    case unclaimed(CallKey)
    /// These digits cannot be played.
    case badDigits(CallKey)
    /// The app's handler has too many strikes and is not started: nobody could take the call.
    case struckOut(AppID)
}
