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
    /// It was no longer worth ringing for: its push came, or its handler reported, after `apns-expiration`.
    case expired
    /// The sender took it back.
    case cancelled
    /// The handler did not start, did not report, did not do what it was asked, or exited.
    case handlerFailed

    /// The reasons that a handler may give when it reports that a call has ended; CallKit's `CXCallEndedReason`.
    package static let reportable: Set<CallEndReason> = [
        .failed, .remoteEnded, .unanswered, .answeredElsewhere, .declinedElsewhere,
    ]
}

/// What a handler is asked to do to a call, and answers with *fulfill* or *fail*; CallKit's `CXCallAction`.
package enum CallAction: String, Sendable, Codable, CaseIterable {
    /// Take the call: the user answered.
    case answer
    /// Finish the call: the user declined or hung up.
    case end
}

/// What is known of a call: from its payload, and from the handler that reports it; CallKit's `CXCallUpdate`.
package struct CallUpdate: Hashable, Sendable, Codable {
    /// Who calls: a SIP URI, a number, any handle of the app's. Untrusted text.
    package var caller: String?
    /// The name to show. Untrusted text.
    package var callerName: String?
    /// Whether the call has video; nil while nobody has said.
    package var hasVideo: Bool?

    /// The most bytes that are kept of a handle or a name.
    package static let maximumTextBytes = 256

    package init(caller: String? = nil, callerName: String? = nil, hasVideo: Bool? = nil) {
        self.caller = caller
        self.callerName = callerName
        self.hasVideo = hasVideo
    }

    /// Takes over what `newer` says, and keeps the rest.
    package mutating func merge(_ newer: CallUpdate) {
        caller = newer.caller ?? caller
        callerName = newer.callerName ?? callerName
        hasVideo = newer.hasVideo ?? hasVideo
    }
}

/// How long each state of a call may last.
package struct CallDeadlines: Hashable, Sendable, Codable {
    /// From the wake to the handler's report, and from a provisional report to its confirmation.
    package var report: Duration
    /// How long a call rings.
    package var ring: Duration
    /// From asking the handler for an action to its answer.
    package var action: Duration
    /// How long a call may last. No call is for ever: a handler that hangs in a call must not block the next.
    package var connected: Duration

    package init(
        report: Duration = .seconds(5), ring: Duration = .seconds(45), action: Duration = .seconds(10),
        connected: Duration = .seconds(4 * 3600)
    ) {
        self.report = report
        self.ring = ring
        self.action = action
        self.connected = connected
    }
}

/// How a handler's process ended.
package enum HandlerExit: Hashable, Sendable, CustomStringConvertible {
    /// It exited with this status.
    case exited(Int32)
    /// This signal killed it.
    case signalled(Int32)

    package var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let signal): "was killed by signal \(signal)"
        }
    }
}

/// One thing that happened to a call, for its timeline.
package struct TimelineEntry: Hashable, Sendable, Codable {
    package let stage: Stage
    package let at: BootInstant

    package init(_ stage: Stage, at instant: BootInstant) {
        self.stage = stage
        at = instant
    }

    /// The hops of a call from the sender to its end.
    package enum Stage: String, Sendable, Codable, CaseIterable {
        /// The push's headers arrived.
        case received
        /// Sender, token, topic and payload were checked.
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
        /// The user declined or hung up.
        case hungUp
        /// It ended.
        case ended
    }
}
