/// A call as the daemon last described it; CallKit's `CXCall`.
public struct Call: Identifiable, Hashable, Sendable {
    /// The id of a call within its app: a text that the push contains.
    public struct ID: Vocabulary, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { self.init(rawValue: value) }
    }

    public let id: ID
    /// The app's bundle id.
    public let app: String
    /// Whether the user of this device began the call; CallKit's `isOutgoing`.
    public let isOutgoing: Bool
    public internal(set) var state: CallState
    /// Why the call ended, or is ending.
    public internal(set) var endReason: CallEndReason?
    /// Who calls, once it is known; of an outgoing call, who is called: CallKit's `remoteHandle`. Untrusted text.
    public internal(set) var caller: String?
    /// The name of the other side, once it is known. Untrusted text.
    public internal(set) var callerName: String?
    /// Whether the call has video, as far as known.
    public internal(set) var hasVideo: Bool
    /// The caller according to an identification list: a guess; show it as one. Untrusted text.
    public internal(set) var identifiedAs: String?
    /// Whether the handler has muted the microphone.
    public internal(set) var isMuted: Bool
    /// Whether the app can hold the call; CallKit's `supportsHolding`.
    public internal(set) var supportsHolding: Bool
    /// Whether the app can play digits in the call; CallKit's `supportsDTMF`.
    public internal(set) var supportsDTMF: Bool
    /// Whether the app can mix the call with another one; CallKit's `supportsGrouping`.
    public internal(set) var supportsMerging: Bool
    /// The number of the conference that the call is in: the app mixes all of its calls that have this number. Nil if the
    /// call is in none.
    public internal(set) var conference: Int64?
    /// Whether the call belongs to this process: it got the call's push, or has reported or claimed the call. No other
    /// process acts on it.
    public internal(set) var isOwn: Bool

    package init(
        id: ID, app: String, isOutgoing: Bool = false, state: CallState, endReason: CallEndReason? = nil,
        caller: String? = nil, callerName: String? = nil, hasVideo: Bool = false, identifiedAs: String? = nil,
        isMuted: Bool = false, supportsHolding: Bool = true, supportsDTMF: Bool = true,
        supportsMerging: Bool = false, conference: Int64? = nil, isOwn: Bool = false
    ) {
        self.id = id
        self.app = app
        self.isOutgoing = isOutgoing
        self.state = state
        self.endReason = endReason
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
        self.identifiedAs = identifiedAs
        self.isMuted = isMuted
        self.supportsHolding = supportsHolding
        self.supportsDTMF = supportsDTMF
        self.supportsMerging = supportsMerging
        self.conference = conference
        self.isOwn = isOwn
    }
}

/// What is known about a call; CallKit's `CXCallUpdate`. A nil keeps the value of the payload, or of an earlier report.
public struct CallUpdate: Hashable, Sendable {
    /// Who calls: a SIP URI, a number, any handle that the app uses. Cut at 256 bytes.
    public var caller: String?
    /// The name to show. Cut at 256 bytes.
    public var callerName: String?
    /// Whether the call has video.
    public var hasVideo: Bool?
    /// Whether the app can hold the call; at first it can.
    public var supportsHolding: Bool?
    /// Whether the app can play digits in the call; at first it can.
    public var supportsDTMF: Bool?
    /// Whether the app can mix the call with another one that it has; at first it can't, and is not asked to
    /// (``CallAction/Kind/merge``).
    public var supportsMerging: Bool?

    public init(
        caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil, supportsHolding: Bool? = nil,
        supportsDTMF: Bool? = nil, supportsMerging: Bool? = nil
    ) {
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
        self.supportsHolding = supportsHolding
        self.supportsDTMF = supportsDTMF
        self.supportsMerging = supportsMerging
    }
}
