/// A word that the daemon sends: a state, a reason, the kind of an action.
///
/// Later versions of the daemon may add words. An unknown word is kept as received, so a `switch` over words needs a
/// `default`.
public protocol Vocabulary: RawRepresentable<String>, Hashable, Sendable, CustomStringConvertible {
    init(rawValue: String)
}

extension Vocabulary {
    public var description: String { rawValue }
}

/// The state of a call.
public struct CallState: Vocabulary {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The call waits for a handler of its app.
    public static let queued = CallState(rawValue: "queued")
    /// A handler got the call and has not reported it yet.
    public static let woken = CallState(rawValue: "woken")
    /// The call was reported, and waits for ``CallProvider/startRinging(_:)``.
    public static let reported = CallState(rawValue: "reported")
    /// The call rings as soon as the daemon has recorded it on the disk.
    public static let confirmed = CallState(rawValue: "confirmed")
    public static let ringing = CallState(rawValue: "ringing")
    /// The user answered, and the handler has not fulfilled the answer yet.
    public static let answering = CallState(rawValue: "answering")
    public static let connected = CallState(rawValue: "connected")
    public static let held = CallState(rawValue: "held")
    /// An outgoing call: the handler was asked to start it, and has not fulfilled that yet.
    public static let dialling = CallState(rawValue: "dialling")
    /// An outgoing call: the handler calls the other side, which has not answered yet.
    public static let connecting = CallState(rawValue: "connecting")
    /// The user ended the call, and the handler has not fulfilled the end yet.
    public static let ending = CallState(rawValue: "ending")
    public static let ended = CallState(rawValue: "ended")

    /// Whether the call rings, or has rung and has not ended.
    var hasRung: Bool { [.ringing, .answering, .connected, .held].contains(self) }
    var isReported: Bool { [.reported, .confirmed].contains(self) || hasRung }
    var hasConnected: Bool { self == .connected || self == .held }
    var isOver: Bool { self == .ending || self == .ended }
}

/// Why a call ended; CallKit's `CXCallEndedReason` and more.
public struct CallEndReason: Vocabulary {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The call could not be set up, or broke.
    public static let failed = CallEndReason(rawValue: "failed")
    /// The other party hung up.
    public static let remoteEnded = CallEndReason(rawValue: "remoteEnded")
    /// Nobody answered within the ring time.
    public static let unanswered = CallEndReason(rawValue: "unanswered")
    /// Another device of the user answered.
    public static let answeredElsewhere = CallEndReason(rawValue: "answeredElsewhere")
    /// Another device of the user declined.
    public static let declinedElsewhere = CallEndReason(rawValue: "declinedElsewhere")
    /// The user declined here; of an outgoing call: the other side declined.
    public static let declined = CallEndReason(rawValue: "declined")
    /// The user hung up here.
    public static let localEnded = CallEndReason(rawValue: "localEnded")
    /// It was too late to ring.
    public static let expired = CallEndReason(rawValue: "expired")
    /// The sender cancelled the call.
    public static let cancelled = CallEndReason(rawValue: "cancelled")
    /// The handler did not start, did not report the call, did not fulfil an action, or exited.
    public static let handlerFailed = CallEndReason(rawValue: "handlerFailed")
    /// A filter blocked the call; see ``CallFilter``.
    public static let restricted = CallEndReason(rawValue: "restricted")
    /// The caller is on a block list.
    public static let blocked = CallEndReason(rawValue: "blocked")
    /// Another call was in progress, and the app's policy rejects calls then; of an outgoing call: the other side is busy.
    public static let busy = CallEndReason(rawValue: "busy")
    /// The sender replaced the call by a later one before a handler had it.
    public static let replaced = CallEndReason(rawValue: "replaced")

    /// Whether a provider may pass it to ``CallProvider/reportCall(with:endReason:)`` for an incoming call.
    public var isReportable: Bool {
        [.failed, .remoteEnded, .unanswered, .answeredElsewhere, .declinedElsewhere].contains(self)
    }

    /// Whether a provider may pass it to ``CallProvider/reportCall(with:endReason:)`` for an outgoing call.
    public var isReportableOfOutgoing: Bool {
        [.failed, .remoteEnded, .unanswered, .busy, .declined].contains(self)
    }
}

/// What blocked a call.
public struct CallFilter: Vocabulary {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let doNotDisturb = CallFilter(rawValue: "doNotDisturb")
    /// The caller is on a block list.
    public static let blockList = CallFilter(rawValue: "blocked")
    /// The app had its maximum of calls within a time.
    public static let appLimit = CallFilter(rawValue: "appLimit")
    /// The caller had the maximum of calls within a time.
    public static let callerLimit = CallFilter(rawValue: "callerLimit")
    /// The app's level is above the allowed one.
    public static let level = CallFilter(rawValue: "level")
}

/// What happens to the user's other calls when the user answers or resumes one.
public struct OtherCalls: Vocabulary {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let hold = OtherCalls(rawValue: "hold")
    public static let end = OtherCalls(rawValue: "end")
}
