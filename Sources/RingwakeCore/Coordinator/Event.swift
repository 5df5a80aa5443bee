/// Everything that can happen to the coordinator. Adapters report their results as events and in no other way.
package enum Event: Hashable, Sendable {
    /// A sender's push passed every check.
    case pushReceived(VerifiedPush)
    /// The handler for a call was started as process `pid`.
    case handlerStarted(CallKey, pid: Int32)
    /// The handler for a call could not be started; `why` is for a person.
    case handlerNotStarted(CallKey, why: String)
    /// The handler's process ended.
    case handlerExited(CallKey, HandlerExit)
    /// The handler reported a call; `ring` when it is confirmed at the same time.
    case reported(CallKey, CallUpdate, ring: Bool)
    /// The handler confirmed the call that it reported.
    case ringConfirmed(CallKey)
    /// The user answered.
    case answerRequested(CallKey)
    /// The user declined.
    case declineRequested(CallKey)
    /// The user hung up.
    case endRequested(CallKey)
    /// The handler did what it was asked to.
    case fulfilled(CallKey, CallAction)
    /// The handler could not do what it was asked to.
    case actionFailed(CallKey, CallAction)
    /// The handler said that the call ended on the other side.
    case remoteEnded(CallKey, CallEndReason)
    /// The time that ``CoordinatorStateMachine/nextDeadline`` named has come.
    case deadlineReached
}
