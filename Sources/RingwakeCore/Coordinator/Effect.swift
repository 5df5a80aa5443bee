/// Everything that the coordinator can ask for.
package enum Effect: Hashable, Sendable {
    /// Start the app's handler for this call.
    case wake(WakeRequest)
    /// Stop the process of this call's handler, with its children.
    case stopHandler(CallKey)
    /// Ask this call's handler to do something, and to say so before the deadline.
    case request(CallAction, CallKey, by: BootInstant)
    /// A call changed: tell who listens. The call is as it was right after the change.
    case callChanged(Call)
    /// A push was taken, but starts no call.
    case pushIgnored(VerifiedPush, IgnoredPush)
    /// The event did not fit and changed nothing: tell whoever sent it.
    case refused(EventRefusal)
}

/// Why a push that was accepted starts no call.
package enum IgnoredPush: String, Sendable {
    /// Its expiration lay in the past when it arrived.
    case expired
    /// Its call is there already, running or ended: at most one ring for a call id.
    case duplicate
}

/// Why an event was refused.
package enum EventRefusal: Error, Hashable, Sendable {
    /// No such call, neither running nor among the last that ended.
    case unknownCall(CallKey)
    /// The call's state does not allow it.
    case wrongState(CallKey, CallStateMachine.State)
    /// As many calls run as may: of this app, or of all.
    case tooManyCalls(AppID)
}
