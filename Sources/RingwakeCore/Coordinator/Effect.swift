/// Everything that the coordinator can ask for.
package enum Effect: Hashable, Sendable {
    /// Start the app's handler with this call. It does not wait for the disk.
    case wake(WakeRequest)
    /// Give this to the handler that keeps a connection.
    case deliver(WakeRequest)
    /// The handler that connected by itself is this one from now on.
    case connected(WakeID)
    /// Give these to the handler that fetches them.
    case handOver([WakeRequest])
    /// Tell the handler that something waits for it to be fetched: of this call.
    case pushWaits(WakeID, CallKey, WakeRequest.Kind)
    /// Stop the handler's process, with its children.
    case stopHandler(WakeID)
    /// The handler has nothing to do any more: it is to exit by itself before long.
    case releaseHandler(WakeID)
    /// The handler has something to do again.
    case retainHandler(WakeID)
    /// Ask this call's handler to do something, and to say so before the deadline.
    case request(PendingAction, CallKey)
    /// Make the push durable, together with its call as it stands and the payloads that the journal may not have yet; then
    /// answer its sender.
    case journalPush(PushRecord, payloads: [CallPayload], call: CallRecord?)
    /// Make durable that the call rings, and say what came of it: only then it does.
    case journalRing(CallRecord)
    /// A call changed: write its ``Call/journalRecord`` down, and tell who listens. The call is as it was right after
    /// the change.
    case callChanged(Call)
    /// A push was taken, but changes nothing.
    case pushIgnored(VerifiedPush, CallKey, PushOutcome)
    /// A handler did not do its part in this call.
    case strike(CallKey, HandlerFailure)
    /// The network changed under a call that its handler has media or a ringing peer for: tell the handler, which may
    /// have to say anew where it can be reached (a re-INVITE, RFC 3261 section 14).
    case tellPath(CallKey)
    /// With that strike, the app's handler is not started any more; or it is again.
    case struckOut(AppID, Bool)
    /// The app's strikes, or which handlers it has, changed: write them down. At most once for an event, and last.
    case appChanged(AppID)
    /// Something of a call changed that its state does not show: write its record down.
    case callNoted(Call)
    /// The call's audio session is not what it was: tell its handler.
    case tellAudio(Call, CallAudioChange)
    /// What the user asked of this call was dropped: another one could not be held or ended for it. It is as it was.
    case othersStayed(CallKey)
    /// A call was kept out.
    case restricted(CallKey, Restriction)
    /// A call ended that nobody took or refused: what stands in for its handler may tell the user.
    case callMissed(Call)
    /// The event did not fit and changed nothing: tell whoever sent it.
    case refused(EventRefusal)
}

/// Why an event was refused.
package enum EventRefusal: Error, Hashable, Sendable {
    /// No such call, neither running nor among the last that ended.
    case unknownCall(CallKey)
    /// The call's state does not allow it.
    case wrongState(CallKey, CallStateMachine.State)
    /// The call belongs to another handler.
    case notOwned(CallKey)
    /// No such handler runs.
    case unknownHandler(WakeID)
    /// As many calls run as may: of this app, or of all.
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
