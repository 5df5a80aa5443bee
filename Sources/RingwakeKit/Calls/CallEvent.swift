public import RingwakeCore

/// An event about the app's calls. Later versions may have more events: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum CallEvent: Hashable, Sendable {
    /// A call's state or its muting changed, or more is known about the caller.
    case changed(Call)
    /// A call ended. Sent once for each call.
    case ended(Call, reason: CallEndReason)
    /// Another process lost this call. It ends if no process claims it within that time.
    case lost(Call, claimWithin: Duration)
    /// This process had lost the call, for example because the daemon was restarted, and has it again.
    case claimed(Call)
    /// The call's audio is active: open its streams now, not before; CallKit's `provider(_:didActivate:)`. Sent once for
    /// each activation. One ``audioDeactivated(call:)`` follows before the next.
    ///
    /// Without a microphone the route has no inputs and its `isInputAvailable` is false: play, and record once
    /// ``audioRouteChanged(call:_:previous:current:)`` brings an input.
    case audioActivated(call: Call.ID, AudioRoute)
    /// The call's audio is no longer active: the call is held or has ended, or the audio server was lost. All changes to
    /// other programs' audio are undone. It comes before ``ended(_:reason:)``.
    case audioDeactivated(call: Call.ID)
    /// The call's audio could not be activated, or was lost. The call continues, and may get audio later.
    case audioFailed(call: Call.ID, AudioSessionError)
    /// The route of a call with active audio changed. A microphone that is connected is `newDeviceAvailable`; the last one
    /// that is removed is `oldDeviceUnavailable`, and the call goes on without.
    case audioRouteChanged(call: Call.ID, AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)
    /// A filter blocked a call. `detail` is for a person.
    case filtered(call: Call.ID, by: CallFilter, detail: String)
    /// The network changed while this call rings, is being answered, is connected or is held: send the new address to the
    /// other party, by a re-INVITE for SIP (RFC 3261 section 14).
    case networkChanged(call: Call.ID, CallPath)
    /// The first cellular call of the device began, or the last one ended.
    case cellular(isActive: Bool)
    /// The app's connection status changed: whether it can reach its targets.
    case reachability(AppReachability)
}

extension CallEvent: QueuedEvent {
    var key: EventKey {
        switch self {
        case .changed(let call): EventKey("changed", call.id)
        case .ended(let call, _): EventKey("ended", call.id)
        case .lost(let call, _): EventKey("lost", call.id)
        case .claimed(let call): EventKey("claimed", call.id)
        case .audioActivated(let call, _): EventKey("audioActivated", call)
        case .audioDeactivated(let call): EventKey("audioDeactivated", call)
        case .audioFailed(let call, _): EventKey("audioFailed", call)
        case .audioRouteChanged(let call, _, _, _): EventKey("audioRouteChanged", call)
        case .filtered(let call, _, _): EventKey("filtered", call)
        case .networkChanged(let call, _): EventKey("networkChanged", call)
        case .cellular: EventKey("cellular")
        case .reachability: EventKey("reachability")
        }
    }
}

/// The network path that a call can use.
public struct CallPath: Hashable, Sendable {
    /// The kind of network behind an interface.
    public struct InterfaceType: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let wifi = InterfaceType(rawValue: "wifi")
        public static let cellular = InterfaceType(rawValue: "cellular")
        public static let wiredEthernet = InterfaceType(rawValue: "wiredEthernet")
        public static let loopback = InterfaceType(rawValue: "loopback")
        public static let other = InterfaceType(rawValue: "other")
    }

    /// Whether there is a usable network.
    public let isSatisfied: Bool
    /// The name of the interface in use.
    public let interface: String?
    public let interfaceType: InterfaceType?
    /// The source addresses of traffic.
    public let sources: [String]
    /// The gateways of the default routes in use.
    public let gateways: [String]
    /// The interface in use is billed by volume.
    public let isExpensive: Bool
    /// The interface in use should carry as little as possible.
    public let isConstrained: Bool
    public let supportsIPv4: Bool
    public let supportsIPv6: Bool
    /// At least one name server is reachable.
    public let supportsDNS: Bool
}

/// Whether an app can reach the targets that its file names.
public struct AppReachability: Hashable, Sendable {
    public struct Status: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let online = Status(rawValue: "online")
        public static let limited = Status(rawValue: "limited")
        public static let offline = Status(rawValue: "offline")
    }

    public let status: Status
    /// Why it is not online, as in the control API's `ConnectionReason`: `noRoute`.
    public let reason: String?
}
