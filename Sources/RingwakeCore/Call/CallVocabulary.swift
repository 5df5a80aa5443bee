/// Why a call ended.
package enum CallEndReason: String, Sendable, Codable, CaseIterable {
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
    /// It was no longer worth ringing for: its push came, or its handler reported, after the push's expiration.
    case expired
    /// The sender took it back.
    case cancelled
    /// The handler did not start, did not report, did not do what it was asked, or exited.
    case handlerFailed
    /// It was kept out: do not disturb, a limit, an app that is not allowed. ``Restriction`` says which.
    case restricted
    /// Its caller is on a block list.
    case blocked
    /// Another call went on, and the app's policy is to refuse further ones then.
    case busy

    /// The reasons that a handler may give when it reports that a call has ended; CallKit's `CXCallEndedReason`.
    package static let reportable = Set(allCases.filter(\.facts.isReportable))
    /// The reasons that a push may take a call back for; any other value means ``cancelled``.
    package static let ofPushes = Set(allCases.filter(\.facts.isOfPushes))
    /// Whether a call that nobody answered, and that ended for it, is a missed call.
    package var isMissed: Bool { facts.isMissed }

    /// What else is known of each reason.
    private var facts: (isReportable: Bool, isOfPushes: Bool, isMissed: Bool) {
        switch self {
        case .failed: (true, false, true)
        case .remoteEnded: (true, false, true)
        case .unanswered: (true, false, true)
        case .answeredElsewhere: (true, true, false)
        case .declinedElsewhere: (true, true, false)
        case .declined: (false, false, false)
        case .localEnded: (false, false, false)
        case .expired: (false, false, true)
        case .cancelled: (false, true, true)
        case .handlerFailed: (false, false, true)
        case .restricted: (false, false, true)
        case .blocked: (false, false, false)
        case .busy: (false, false, true)
        }
    }
}

/// What a handler is asked to do to a call, and answers with *fulfill* or *fail*; CallKit's `CXCallAction`.
package enum CallAction: String, Sendable, Codable, CaseIterable {
    /// Take the call: the user answered.
    case answer
    /// Finish the call: the user declined or hung up.
    case end
    /// Stop sending and playing media, and tell the peer; CallKit's `CXSetHeldCallAction` with `isOnHold`.
    case hold
    /// Go on with a call that is held.
    case unhold
    /// Send silence; CallKit's `CXSetMutedCallAction` with `isMuted`.
    case mute
    /// Send the microphone again.
    case unmute
    /// Play digits to the peer (RFC 4733); CallKit's `CXPlayDTMFCallAction`.
    case dtmf
}

/// What is known of a call: from its payload, and from the handler that reports it; CallKit's `CXCallUpdate`.
package struct CallUpdate: Hashable, Sendable {
    /// Who calls: a SIP URI, a number, any handle of the app's. Untrusted text.
    package var caller: String?
    /// The name to show. Untrusted text.
    package var callerName: String?
    /// Whether the call has video; nil while nobody has said.
    package var hasVideo: Bool?
    /// Who an identification list says that the caller is: a guess, to be shown as one. Untrusted text.
    package var identifiedAs: String?

    /// The most bytes that are kept of a handle or a name.
    package static let maximumTextBytes = 256

    package init(
        caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil, identifiedAs: String? = nil
    ) {
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
        self.identifiedAs = identifiedAs
    }

    /// Takes over what `newer` says, and keeps the rest.
    package mutating func merge(_ newer: CallUpdate) {
        caller = newer.caller ?? caller
        callerName = newer.callerName ?? callerName
        hasVideo = newer.hasVideo ?? hasVideo
        identifiedAs = newer.identifiedAs ?? identifiedAs
    }
}

/// How long each state of a call may last.
package struct CallDeadlines: Hashable, Sendable {
    /// From the wake to the handler's report, and from a provisional report to its confirmation.
    package var report: Duration
    /// How long a call rings.
    package var ring: Duration
    /// From asking the handler for an action to its answer.
    package var action: Duration
    /// How long a call may last. No call is for ever: a handler that hangs in a call must not block the next.
    package var connected: Duration
    /// How long a call that rings or goes on outlives its handler: by then another start of it has claimed the call.
    package var claim: Duration

    package init(
        report: Duration = .seconds(5), ring: Duration = .seconds(45), action: Duration = .seconds(10),
        connected: Duration = .seconds(4 * 3600), claim: Duration = .seconds(5)
    ) {
        self.report = report
        self.ring = ring
        self.action = action
        self.connected = connected
        self.claim = claim
    }
}

/// How a handler ended.
package enum HandlerExit: Hashable, Sendable, CustomStringConvertible {
    /// Its process exited with this status.
    case exited(Int32)
    /// This signal killed its process.
    case signalled(Int32)
    /// It left: its unit stopped, its bus name or its connection is gone. How is said for a person.
    case left(String)

    /// Whether it ended by its own will, as far as anybody knows.
    var isInGoodOrder: Bool {
        switch self {
        case .exited(let status): status == 0
        case .signalled: false
        case .left: true
        }
    }

    package var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let signal): "was killed by signal \(signal)"
        case .left(let how): "left: \(how)"
        }
    }
}

/// One thing that happened to a call, for its timeline.
package struct TimelineEntry: Hashable, Comparable, Sendable {
    package let stage: Stage
    package let at: BootInstant

    package init(_ stage: Stage, at instant: BootInstant) {
        self.stage = stage
        at = instant
    }

    /// By time; what happened at one instant stands in the order of the stages.
    package static func < (left: TimelineEntry, right: TimelineEntry) -> Bool {
        (left.at, left.stage.order) < (right.at, right.stage.order)
    }

    /// The hops of a call from the sender to its end.
    package enum Stage: String, Sendable, Codable, CaseIterable {
        /// The push's headers arrived.
        case received
        /// Its push passed all checks of its door.
        case verified
        /// The journal has it: from now on nothing but its end makes an end of it.
        case journaled
        /// The handler's process was started.
        case woke
        /// The handler reported the call.
        case reported
        /// It began to ring.
        case rang
        /// The user answered.
        case answered
        /// The handler fulfilled the answer.
        case connected
        /// Its audio session became active: its handler may open its streams.
        case audioActive
        /// The user declined or hung up.
        case hungUp
        /// It ended.
        case ended

        fileprivate var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }
}
