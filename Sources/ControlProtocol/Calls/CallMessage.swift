package import RingwakeCore

/// One call, with its state and its history.
package struct CallMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// ID within its app.
    package var call: String
    /// Bundle ID of its app.
    package var app: String
    /// Whether the user of this device began it; nil: no.
    package var outgoing: Bool?
    /// Topic of its push. Like the next two, it is nil if the push didn't come by APNs, and in an outgoing call.
    package var topic: String?
    /// Environment of its push: `development` or `production`.
    package var environment: String?
    /// Team of its push's sender.
    package var team: String?
    /// `queued` (waits for its app's handler), `woken`, `reported`, `confirmed` (rings as soon as the journal has
    /// recorded that), `ringing`, `answering`, `connected`, `held`, `ending` or `ended`; an outgoing one also `dialling`
    /// (its handler was asked to start it) or `connecting` (the other side has not answered yet).
    package var state: String
    /// Why it ended or is ending: `CallEndReason` as text; nil otherwise.
    package var reason: String?
    /// Details of the end, for people: an exit status, a deadline.
    package var detail: String?
    /// Whether it is a missed call: it ended, and was not answered or declined anywhere.
    package var missed: Bool
    /// ID of the push that started it; nil in an outgoing call.
    package var pushId: String?
    /// The caller, from the payload or the handler. In an outgoing call, this and the next two are who is called.
    package var caller: String?
    /// The caller's name, from the payload or the handler.
    package var callerName: String?
    /// The caller's name in an identification list. Show it as a guess.
    package var identifiedAs: String?
    /// ``ProtectionClass`` as text, if that keeps from reading who called; nil otherwise.
    package var lockedBy: String?
    /// Whether it has video, as far as known.
    package var video: Bool
    /// `false`: its handler can't hold it; nil: it can, as far as known.
    package var supportsHold: Bool?
    /// `false`: its handler can't play digits in it; nil: it can, as far as known.
    package var supportsDTMF: Bool?
    /// `true`: its handler can mix it with another call; nil: it can't, as far as known.
    package var supportsMerge: Bool?
    /// Number of the conference that it is in: its handler mixes all calls with this number. Nil if there is none.
    package var conference: Int64?
    /// Whether its handler has muted the microphone.
    package var muted = false
    /// State of its audio session; nil before the first activation.
    package var audio: CallAudioMessage?
    /// What rings for it: `app`, or `daemon` (by policy, or because its handler failed).
    package var ringer = "app"
    /// Actions that its handler has been asked for and hasn't completed, oldest first.
    package var pending: [PendingActionMessage] = []
    /// What kept it out; nil if nothing did.
    package var restriction: RestrictionMessage?
    /// Number of attempts to wake a handler.
    package var attempt: Int
    /// PID of its handler, while that runs.
    package var pid: Int32?
    /// Milliseconds until it ends because no handler has claimed it since it lost its own; nil while it has one.
    package var claimMs: Int64?
    /// Milliseconds until the deadline of its state; nil once it has ended.
    package var deadlineMs: Int64?
    /// Arrival time of the push that started it, or of the request to call: ``UTCTime`` as text.
    package var receivedAt: String
    /// Its history, in order.
    package var timeline: [Hop]
}

extension CallMessage {
    /// Leaves out who called, because a class keeps from reading it.
    package mutating func hideCaller(_ protection: ProtectionClass) {
        guard caller != nil || callerName != nil || identifiedAs != nil || lockedBy != nil else { return }
        (caller, callerName, identifiedAs, lockedBy) = (nil, nil, nil, protection.rawValue)
    }
}

/// An action that a handler has been asked for.
package struct PendingActionMessage: Codable, Equatable, Sendable {
    /// `CallAction` as text: `answer`, `start`, `end`, `hold`, `unhold`, `mute`, `unmute`, `dtmf` or `merge`.
    package var action: String
    /// With `dtmf`: the digits to play.
    package var digits: String?
    /// With `merge`: ID of the call to mix it with.
    package var with: String?
    /// Milliseconds left to fulfill or fail it.
    package var deadlineMs: Int64
}

/// What kept a call out.
package struct RestrictionMessage: Codable, Equatable, Sendable {
    /// `Restriction.Kind` as text: `doNotDisturb`, `blocked`, `appLimit`, `callerLimit` or `level`.
    package var kind: String
    /// Details, for people.
    package var detail: String
}

extension RestrictionMessage {
    package init(_ restriction: Restriction) {
        self.init(kind: restriction.kind.rawValue, detail: restriction.detail)
    }
}

/// One step in the history of a call or a push.
package struct Hop: Codable, Equatable, Sendable {
    /// `received`, `verified`, `journaled`, `woke`, `reported`, `rang`, `answered`, `dialled`, `connecting`, `connected`,
    /// `audioActive`, `hungUp` or `ended`.
    package var stage: String
    /// Microseconds since the push's headers, or the request to call, arrived.
    package var atUs: Int64
    /// Who answered or hung up instead of the user: `app`, or `rule` of a call that answered itself; nil: the user did, or
    /// nobody.
    package var by: String?

    package init(stage: String, atUs: Int64, by: String? = nil) {
        self.stage = stage
        self.atUs = atUs
        self.by = by
    }
}

/// Calls: the active ones, newest first, then the call log, newest first.
package struct CallListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var calls: [CallMessage]
    /// The value of `before` for older calls; nil if there are none.
    package var next: Int64?
    /// Why the log is incomplete: the journal couldn't be read. Nil if it is complete.
    package var incomplete: String?

    package init(calls: [CallMessage], next: Int64? = nil, incomplete: String? = nil) {
        self.calls = calls
        self.next = next
        self.incomplete = incomplete
    }
}
