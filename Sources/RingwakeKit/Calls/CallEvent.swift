public import RingwakeCore

/// What a provider tells of the app's calls.
public enum CallEvent: Hashable, Sendable {
    /// A call has another state, was muted or not, or more is known of its caller.
    case changed(CallInfo)
    /// A call is over. Told once for each call. Detail is for a person, where there is more to say.
    case ended(CallInfo, reason: CallEndReason)
    /// A call of another process lost it, and ends if nobody claims it within that time.
    case lost(CallInfo, claimWithin: Duration)
    /// A call of this process had lost it, as when the daemon was restarted, and is its own again.
    case claimed(CallInfo)
    /// The call's audio is active: open its streams now, and not before; CallKit's `provider(_:didActivate:)`. Once for
    /// each activation, and always followed by one ``audioDeactivated(call:)`` before the next.
    case audioActivated(call: String, AudioRoute)
    /// It is not any more: the call is held, over, or its audio server is gone. What it had done to others is put back.
    case audioDeactivated(call: String)
    /// It could not be made active, or was lost. The call goes on, and may get it later.
    case audioFailed(call: String, AudioSessionError)
    /// The sound of a call whose audio is active goes, or comes from, elsewhere.
    case audioRouteChanged(call: String, AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// A call was kept out. Detail is for a person.
    case filtered(call: String, by: CallFilter, detail: String)
    /// The network is another while this call rings, is being answered, is connected or is held: tell the other side
    /// where this one is now, with a re-INVITE for SIP (RFC 3261 section 14).
    case networkChanged(call: String, CallPath)
    /// The first cellular call of the device began, or the last one ended.
    case cellular(isActive: Bool)
    /// Whether the app's own destinations can be reached.
    case reachability(AppReachability)
}

/// What the network offers to a call.
public struct CallPath: Hashable, Sendable {
    /// Whether there is a network that can be used.
    public let isSatisfied: Bool
    /// The name of the interface in use.
    public let interface: String?
    /// What carries it: `wifi`, `cellular`, `wiredEthernet`, `loopback` or `other`.
    public let interfaceType: String?
    /// The addresses that traffic is sent from.
    public let sources: [String]
    /// The gateways of the default routes in use.
    public let gateways: [String]
    /// The interface in use is paid for by volume.
    public let isExpensive: Bool
    /// The interface in use is to be spared.
    public let isConstrained: Bool
    public let supportsIPv4: Bool
    public let supportsIPv6: Bool
    /// Some name server is reachable.
    public let supportsDNS: Bool
}

/// Whether an app can reach what its file names as its targets.
public struct AppReachability: Hashable, Sendable {
    public enum Status: String, Hashable, Sendable {
        case online
        case limited
        case offline
    }

    public let status: Status
    /// Why it is not online, as in the control API's `ConnectionReason`: `noRoute`.
    public let reason: String?
}
