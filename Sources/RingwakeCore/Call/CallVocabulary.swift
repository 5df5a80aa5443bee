/// Why a call ended.
package enum CallEndReason: String, Sendable, Codable, CaseIterable {
    /// It could not be set up, or the connection failed.
    case failed
    /// The other side hung up.
    case remoteEnded
    /// Nobody answered within the ring time.
    case unanswered
    /// The user answered on another device.
    case answeredElsewhere
    /// The user declined on another device.
    case declinedElsewhere
    /// The user declined on this device; of an outgoing call: the other side declined.
    case declined
    /// The user hung up on this device.
    case localEnded
    /// The push had expired when it arrived or when the handler reported the call.
    case expired
    /// The sender cancelled it.
    case cancelled
    /// The handler did not start, did not report, did not do what was requested, or exited.
    case handlerFailed
    /// A rule kept it from ringing: do not disturb, a limit, an app that is not allowed. ``Restriction`` says which.
    case restricted
    /// Its caller is on a block list.
    case blocked
    /// Another call was active, and the app's policy rejects further calls then; of an outgoing call: the other side is
    /// busy.
    case busy
    /// A later push with its collapse id took its place before a handler had it.
    case replaced

    /// The reasons that a handler may give when it reports that a call has ended; CallKit's `CXCallEndedReason`.
    package static let reportable = Set(allCases.filter(\.facts.isReportable))
    /// The same for an outgoing call, of which no other device of the user knows.
    package static let reportableOfOutgoing: Set<CallEndReason> = [
        .failed, .remoteEnded, .unanswered, .busy, .declined,
    ]
    /// The reasons that a push may give when it cancels a call. Any other value means ``cancelled``.
    package static let ofPushes = Set(allCases.filter(\.facts.isOfPushes))
    /// Whether a call that ended for this reason, and that nobody answered, counts as missed.
    package var isMissed: Bool { facts.isMissed }
    /// The reason in words, to stand in brackets after the state of a call: `ended (you hung up)`.
    package func words(isOutgoing: Bool) -> String {
        guard isOutgoing else { return facts.words }
        return switch self {
        case .remoteEnded: "the other side hung up"
        case .declined: "the other side declined"
        case .busy: "the other side is busy"
        default: facts.words
        }
    }

    /// The properties of each reason.
    private var facts: (isReportable: Bool, isOfPushes: Bool, isMissed: Bool, words: String) {
        switch self {
        case .failed: (true, false, true, "the connection failed")
        case .remoteEnded: (true, false, true, "caller hung up")
        case .unanswered: (true, false, true, "nobody answered")
        case .answeredElsewhere: (true, true, false, "answered on another device")
        case .declinedElsewhere: (true, true, false, "declined on another device")
        case .declined: (false, false, false, "you declined")
        case .localEnded: (false, false, false, "you hung up")
        case .expired: (false, false, true, "it came too late")
        case .cancelled: (false, true, true, "caller cancelled")
        case .handlerFailed: (false, false, true, "handler failed")
        case .restricted: (false, false, true, "kept out by a rule")
        case .blocked: (false, false, false, "caller is blocked")
        case .busy: (false, false, true, "another call was active")
        case .replaced: (false, false, false, "a later push took its place")
        }
    }
}

/// An action that the handler must do to a call and answer with *fulfill* or *fail*; CallKit's `CXCallAction`.
package enum CallAction: String, Sendable, Codable, CaseIterable {
    /// Accept the call: the user answered.
    case answer
    /// Call the other side: the user began an outgoing call; CallKit's `CXStartCallAction`.
    case start
    /// End the call: the user declined or hung up.
    case end
    /// Stop sending and playing media, and notify the peer; CallKit's `CXSetHeldCallAction` with `isOnHold`.
    case hold
    /// Resume a held call.
    case unhold
    /// Send silence; CallKit's `CXSetMutedCallAction` with `isMuted`.
    case mute
    /// Send the microphone again.
    case unmute
    /// Play digits to the peer (RFC 4733); CallKit's `CXPlayDTMFCallAction`.
    case dtmf
    /// Mix the call with another one that the handler has, so that all hear each other; CallKit's `CXSetGroupCallAction`.
    case merge
}

/// The maximum duration of each state of a call.
package struct CallDeadlines: Hashable, Sendable {
    /// From the wake to the handler's report, and from a provisional report to its confirmation.
    package var report: Duration
    /// The time that a call rings.
    package var ring: Duration
    /// From asking the handler for an action to its answer.
    package var action: Duration
    /// The duration of a call. It is limited so that a handler that hangs in a call cannot block the next call.
    package var connected: Duration
    /// How long a ringing or active call waits for another handler after it lost its own.
    package var claim: Duration
    /// How long an outgoing call waits for the other side to answer: as long as a proxy waits at least for the answer to
    /// an INVITE (timer C, RFC 3261 section 16.6).
    package var dial: Duration

    package init(
        report: Duration = .seconds(5), ring: Duration = .seconds(45), action: Duration = .seconds(10),
        connected: Duration = .seconds(4 * 3600), claim: Duration = .seconds(5), dial: Duration = .seconds(180)
    ) {
        self.report = report
        self.ring = ring
        self.action = action
        self.connected = connected
        self.claim = claim
        self.dial = dial
    }
}

/// How a handler ended.
package enum HandlerExit: Hashable, Sendable, CustomStringConvertible {
    /// Its process exited with this status.
    case exited(Int32)
    /// This signal killed its process.
    case signalled(Int32)
    /// It left: its unit stopped, or its bus name or connection is gone. The text says which, for a person.
    case left(String)

    /// Whether it ended normally, as far as is known.
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

/// One event in the timeline of a call.
package struct TimelineEntry: Hashable, Comparable, Sendable {
    package let stage: Stage
    package let at: BootInstant
    /// Of what a user does: who did it instead; nil: the user.
    package let by: StandIn?

    package init(_ stage: Stage, at instant: BootInstant, by standIn: StandIn? = nil) {
        self.stage = stage
        at = instant
        by = standIn
    }

    /// Who does what a user does.
    package enum StandIn: String, Sendable, Codable, CaseIterable {
        /// The call's handler.
        case app
        /// The daemon: the app's calls answer themselves.
        case rule
    }

    /// By time; events at the same instant are in the order of the stages.
    package static func < (left: TimelineEntry, right: TimelineEntry) -> Bool {
        (left.at, left.stage.order) < (right.at, right.stage.order)
    }

    /// The stages of a call from the sender to its end.
    package enum Stage: String, Sendable, Codable, CaseIterable {
        /// The push's headers arrived; of an outgoing call: it was requested.
        case received
        /// The push passed all checks of its ``Provenance/Door``.
        case verified
        /// The journal has stored the call: it survives everything but its end.
        case journaled
        /// The handler's process was started.
        case woke
        /// The handler reported the call.
        case reported
        /// The call began to ring.
        case rang
        /// The user answered.
        case answered
        /// The handler calls the other side.
        case dialled
        /// The other side is being reached, as the handler reported: it rings, for example.
        case connecting
        /// The handler fulfilled the answer; of an outgoing call: the other side answered.
        case connected
        /// The audio session became active: the handler may open its streams.
        case audioActive
        /// The user declined or hung up.
        case hungUp
        /// The call ended.
        case ended

        /// Whether the user does it, or somebody instead.
        var isUsers: Bool { self == .answered || self == .hungUp }

        fileprivate var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }
}
