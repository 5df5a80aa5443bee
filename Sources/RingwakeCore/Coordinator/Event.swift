/// Everything that can happen to the coordinator. Adapters report their results as events and in no other way.
///
/// Where a handler does something, `by` says which start of a handler; nil is the owner, who may act on every call.
package enum Event: Hashable, Sendable {
    /// A sender's push passed every check; the facts are what its payload says, the policy its app's.
    case pushReceived(VerifiedPush, PushFacts, AppPolicy)
    /// The journal has a push of the call with this number. `isKnown`: and it had another call of that name before.
    case pushJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal has it that the call with this number rings. `isKnown`: it has not, for it had another of that name.
    case ringJournaled(CallKey, number: Int64, isKnown: Bool)
    /// The journal failed to record that the call with this number rings.
    case ringNotJournaled(CallKey, number: Int64)
    /// At the start: a call that had not ended when the daemon last did. Without a policy its app is gone.
    case recovered(RecoveredCall, AppPolicy?)
    /// A handler's process runs.
    case handlerStarted(WakeID, pid: Int32)
    /// A handler could not be started; `why` is for a person.
    case handlerNotStarted(WakeID, why: String)
    /// A handler's process ended.
    case handlerExited(WakeID, HandlerExit)
    /// A handler fetches what waits for it.
    case pushesFetched(WakeID)
    /// The handler reported a call; `ring` when it is confirmed at the same time.
    case reported(CallKey, CallUpdate, ring: Bool, by: WakeID?)
    /// The handler confirmed the call that it reported.
    case ringConfirmed(CallKey, by: WakeID?)
    /// The handler did what it was asked to.
    case fulfilled(CallKey, CallAction, by: WakeID?)
    /// The handler could not do what it was asked to.
    case actionFailed(CallKey, CallAction, by: WakeID?)
    /// The handler said that the call ended on the other side.
    case remoteEnded(CallKey, CallEndReason, by: WakeID?)
    /// The user answered.
    case answerRequested(CallKey)
    /// The user declined.
    case declineRequested(CallKey)
    /// The user hung up.
    case endRequested(CallKey)
    /// The way to the network is another: an interface, an address or a gateway changed.
    case networkChanged
    /// The time that ``CoordinatorStateMachine/nextDeadline`` named has come.
    case deadlineReached
}
