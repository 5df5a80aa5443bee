/// Where a call stands.
public enum CallState: String, Hashable, Sendable, CaseIterable {
    /// It waits for a handler of its app.
    case queued
    /// A handler was given it, and has not reported it.
    case woken
    /// It was reported, and waits for ``CallProvider/ring(_:)``.
    case reported
    /// It rings as soon as the journal has that it does.
    case confirmed
    case ringing
    /// The user took it, and its handler is doing so.
    case answering
    case connected
    case held
    /// The user ended it, and its handler is doing so.
    case ending
    case ended
}

/// Why a call ended; CallKit's `CXCallEndedReason`, and what else there is.
public enum CallEndReason: String, Hashable, Sendable, CaseIterable {
    /// It could not be set up, or broke.
    case failed
    /// The other side hung up.
    case remoteEnded
    /// Nobody answered within the ring time.
    case unanswered
    /// Another device of the user's answered.
    case answeredElsewhere
    /// Another device of the user's declined.
    case declinedElsewhere
    /// The user refused it here.
    case declined
    /// The user hung up here.
    case localEnded
    /// It was no longer worth ringing for.
    case expired
    /// The sender took it back.
    case cancelled
    /// Its handler did not start, did not report, did not do what it was asked, or exited.
    case handlerFailed
    /// It was kept out; ``CallFilter`` says by what.
    case restricted
    /// Its caller is on a block list.
    case blocked
    /// Another call went on, and the app's policy refuses further ones then.
    case busy

    /// Whether a provider may give it to ``CallProvider/reportEnded(_:reason:)``.
    public var isReportable: Bool {
        switch self {
        case .failed, .remoteEnded, .unanswered, .answeredElsewhere, .declinedElsewhere: true
        case .declined, .localEnded, .expired, .cancelled, .handlerFailed, .restricted, .blocked, .busy: false
        }
    }
}

/// What keeps a call out.
public enum CallFilter: String, Hashable, Sendable, CaseIterable {
    case doNotDisturb
    /// Its caller is on a block list.
    case blockList = "blocked"
    /// As many calls of the app came within the time as may.
    case appLimit
    /// As many calls of the caller came within the time as may.
    case callerLimit
    /// The app's level is above what is allowed.
    case level
}

/// What is known of a call; CallKit's `CXCallUpdate`. What is nil stays as the payload, or an earlier report, said it.
public struct CallUpdate: Hashable, Sendable {
    /// Who calls: a SIP URI, a number, any handle of the app's. Cut at 256 bytes.
    public var caller: String?
    /// The name to show. Cut at 256 bytes.
    public var callerName: String?
    /// Whether the call has video.
    public var hasVideo: Bool?

    public init(caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil) {
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
    }
}
