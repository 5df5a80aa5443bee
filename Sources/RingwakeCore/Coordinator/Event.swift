/// Everything that can happen to the coordinator. Adapters report their results as events and in no other way.
///
/// Where a handler does something, `by` says which start of a handler; nil is the owner, who may act on every call.
package enum Event: Hashable, Sendable {
    /// A sender's push passed every check; the facts are what its payload says, the policy its app's. The restriction
    /// is what keeps its call out, as far as its caller is known.
    case pushReceived(VerifiedPush, PushFacts, AppPolicy, Restriction? = nil)
    /// The journal has a push of the call with this number. `isKnown`: and it had another call of that name before.
    case pushJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal has it that the call with this number rings. `isKnown`: it has not, for it had another of that name.
    case ringJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal failed to record that the call with this number rings.
    case ringNotJournaled(CallKey, number: Int64)
    /// At the start: a call that had not ended when the daemon last did, as the journal has it. Without a policy its app is
    /// gone. To come after ``strikesRestored(_:_:isStruckOut:)``. It starts nothing: that's for the next event.
    case restored(StoredCall, AppPolicy?)
    /// At the start: handlers of the last run, with the calls that they had; those named alive still run. To come once for
    /// each app that has any, or a restored call, after all of these: only then its calls find their handlers. As this may
    /// start handlers, the coordinator has been made with a first number above those of all handlers, of whatever app.
    case handlersRestored(AppID, [WakeID: HandlerLane.Handler], alive: Set<WakeID>, AppPolicy)
    /// At the start: the strikes of the last run.
    case strikesRestored(AppID, [Strike], isStruckOut: Bool)
    /// A handler runs; as this process, where that is known.
    case handlerStarted(WakeID, pid: Int32?)
    /// A handler could not be started; `why` is for a person.
    case handlerNotStarted(WakeID, why: String)
    /// A handler's process ended.
    case handlerExited(WakeID, HandlerExit)
    /// A handler keeps a connection to the daemon: what comes is delivered by it, and nothing is started. Without a
    /// WakeID it came by itself, and gets one by ``Effect/connected(_:)``.
    case handlerConnected(AppID, WakeID?, pid: Int32?, AppPolicy)
    /// The connection is gone. A handler that came by itself has ended; a started one still runs, and fetches.
    case handlerDisconnected(WakeID)
    /// A handler claims a call that has lost its own.
    case claimed(CallKey, by: WakeID)
    /// A handler fetches what waits for it.
    case pushesFetched(WakeID)
    /// The handler reported a call; `ring` when it is confirmed at the same time. The restriction is what keeps the call
    /// out, now that the caller is known.
    case reported(CallKey, CallUpdate, ring: Bool, by: WakeID?, Restriction? = nil)
    /// The handler confirmed the call that it reported.
    case ringConfirmed(CallKey, by: WakeID?)
    /// The handler did what it was asked to, and may say with it what its call's audio session is.
    case fulfilled(CallKey, CallAction, by: WakeID?, audio: AudioSessionConfiguration? = nil)
    /// The handler could not do what it was asked to.
    case actionFailed(CallKey, CallAction, by: WakeID?)
    /// The handler says what its call's audio session is.
    case audioConfigured(CallKey, AudioSessionConfiguration, by: WakeID?)
    /// Something happened to the call's audio session.
    case audioChanged(CallKey, CallAudioChange)
    /// The handler said that the call ended on the other side.
    case remoteEnded(CallKey, CallEndReason, by: WakeID?)
    /// The user answered; what becomes of the other calls in progress, nil as the app's policy says.
    case answerRequested(CallKey, others: OtherCalls? = nil)
    /// The user declined.
    case declineRequested(CallKey)
    /// The user hung up.
    case endRequested(CallKey)
    /// The user holds the call, or resumes it; then the others in progress are held or ended first.
    case holdRequested(CallKey, Bool, others: OtherCalls? = nil)
    /// The user turns the microphone off or on.
    case muteRequested(CallKey, Bool)
    /// The user plays digits.
    case digitsRequested(CallKey, String)
    /// The last cellular call of the device has ended, or the first one has begun.
    case cellularChanged(isActive: Bool)
    /// The owner clears the strikes of an app.
    case strikesCleared(AppID)
    /// The path to the network changed: an interface, an address or a gateway.
    case networkChanged
    /// The time that ``CoordinatorStateMachine/nextDeadline`` named has come.
    case deadlineReached
}
