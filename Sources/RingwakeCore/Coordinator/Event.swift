/// Everything that can happen to the coordinator. Adapters report all results as events.
///
/// `by` is the handler that sent an event; nil is the owner, who may act on every call.
package enum Event: Hashable, Sendable {
    /// A sender's push passed every check. The facts are from its payload, the policy is its app's. The restriction is
    /// the rule that keeps the call from ringing, as far as the caller is known.
    case pushReceived(VerifiedPush, PushFacts, AppPolicy, Restriction? = nil)
    /// The journal has stored a push of the call with this number. `isKnown`: it already had another call with this
    /// key.
    case pushJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal has recorded that the call with this number rings. `isKnown`: it has not, because it already had
    /// another call with this key.
    case ringJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal failed to record that the call with this number rings.
    case ringNotJournaled(CallKey, number: Int64)
    /// At the start: a call from the journal that had not ended. The policy is nil if its app is gone. Comes after
    /// ``strikesRestored(_:_:isStruckOut:)``. It starts no handler: ``handlersRestored(_:_:alive:_:)`` does.
    case restored(StoredCall, AppPolicy?)
    /// At the start: the handlers of the last run and their calls; those in `alive` still run. Comes once for each app
    /// that has handlers or a restored call, after all restored calls: only then do the calls find their handlers. This
    /// may start handlers, so the coordinator's first wake number must be above those of all handlers of every app.
    case handlersRestored(AppID, [WakeID: HandlerLane.Handler], alive: Set<WakeID>, AppPolicy)
    /// At the start: the strikes of the last run.
    case strikesRestored(AppID, [Strike], isStruckOut: Bool)
    /// A handler runs, with its process id if known.
    case handlerStarted(WakeID, pid: Int32?)
    /// A handler could not be started; `why` is for a person.
    case handlerNotStarted(WakeID, why: String)
    /// A handler's process ended.
    case handlerExited(WakeID, HandlerExit)
    /// A handler connected to the daemon: calls are delivered over the connection, and no handler is started. Without a
    /// WakeID the handler came by itself, and ``Effect/connected(_:)`` gives it one.
    case handlerConnected(AppID, WakeID?, pid: Int32?, AppPolicy)
    /// The connection is gone. A self-connected handler counts as ended; a started one still runs, and fetches.
    case handlerDisconnected(WakeID)
    /// A handler claims a call that has lost its handler.
    case claimed(CallKey, by: WakeID)
    /// A handler fetches its pushes.
    case pushesFetched(WakeID)
    /// Nobody can read any more who called in the calls that have ended.
    case callersDeleted
    /// Who called can be read now, by the numbers of calls.
    case callersRevealed([Int64: CallUpdate])
    /// The handler reported a call; `ring`: and confirmed it at the same time. The restriction is the rule that keeps
    /// the call from ringing, now that the caller is known.
    case reported(CallKey, CallUpdate, ring: Bool, by: WakeID?, Restriction? = nil)
    /// The handler knows more about a call that it has, or something changed: who it is with, video, what it can do.
    case updated(CallKey, CallUpdate, by: WakeID?)
    /// The handler confirmed a call that it had reported.
    case ringConfirmed(CallKey, by: WakeID?)
    /// The handler did what was requested. It may configure the call's audio session with it.
    case fulfilled(CallKey, CallAction, by: WakeID?, audio: AudioSessionConfiguration? = nil)
    /// The handler could not do what was requested.
    case actionFailed(CallKey, CallAction, by: WakeID?)
    /// The handler configures the call's audio session.
    case audioConfigured(CallKey, AudioSessionConfiguration, by: WakeID?)
    /// The call's audio session changed.
    case audioChanged(CallKey, CallAudioChange)
    /// The handler reported that the call ended on the other side.
    case remoteEnded(CallKey, CallEndReason, by: WakeID?)
    /// The user, or the app for the user, begins a call.
    case startRequested(OutgoingCall, AppPolicy, by: WakeID?)
    /// The handler reports how far an outgoing call is.
    case progressed(CallKey, OutgoingCall.Progress, by: WakeID?)
    /// The user answered, or the app for the user, as in the five below: `by` is its handler then, which has the call.
    /// `others`: what to do with the other calls in progress; nil: the app's policy decides.
    case answerRequested(CallKey, others: OtherCalls? = nil, by: WakeID? = nil)
    /// The user declined.
    case declineRequested(CallKey, by: WakeID? = nil)
    /// The user hung up.
    case endRequested(CallKey, by: WakeID? = nil)
    /// The user holds or resumes the call. Before it is resumed, other calls in progress are held or ended.
    case holdRequested(CallKey, Bool, others: OtherCalls? = nil, by: WakeID? = nil)
    /// The user mutes or unmutes the microphone.
    case muteRequested(CallKey, Bool, by: WakeID? = nil)
    /// The user plays digits.
    case digitsRequested(CallKey, String, by: WakeID? = nil)
    /// The user merges the call with another one of its handler.
    case mergeRequested(CallKey, with: CallID, by: WakeID? = nil)
    /// The first cellular call of the device has begun, or the last one has ended.
    case cellularChanged(isActive: Bool)
    /// The configuration was read again, with these policies of all apps.
    case policiesChanged([AppID: AppPolicy])
    /// The owner clears the strikes of an app.
    case strikesCleared(AppID)
    /// The user forces the end of an app: its calls end, and its handlers are stopped.
    case appReset(AppID)
    /// The path to the network changed: an interface, an address or a gateway.
    case networkChanged
    /// The time of ``CoordinatorStateMachine/nextDeadline`` has come.
    case deadlineReached
}
