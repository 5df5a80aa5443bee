package import RingwakeCore

/// One call: where it stands, and how it came there.
package struct CallMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its id within its app.
    package var call: String
    /// Its app's bundle id.
    package var app: String
    /// The topic that its push was sent to. Nil, as the next two, where that came by another door than APNs.
    package var topic: String?
    /// The environment that its push came in by: `development` or `production`.
    package var environment: String?
    /// The team of its push's sender.
    package var team: String?
    /// `queued` (it waits for its app's handler), `woken`, `reported`, `confirmed` (it rings as soon as the journal
    /// has that it does), `ringing`, `answering`, `connected`, `held`, `ending` or `ended`.
    package var state: String
    /// Why it ended, or is ending: `CallEndReason` as text; nil while it is not.
    package var reason: String?
    /// More on why it ended, for a person: an exit status, a deadline.
    package var detail: String?
    /// Whether it is a missed call: it ended, and nobody answered or declined it anywhere.
    package var missed: Bool
    /// The id of the push that started it.
    package var pushId: String
    /// Who calls, as the payload or the handler said.
    package var caller: String?
    /// The caller's name, as the payload or the handler said.
    package var callerName: String?
    /// Who an identification list says that the caller is: a guess, to be shown as one.
    package var identifiedAs: String?
    /// Whether it has video, as far as anybody has said.
    package var video: Bool
    /// Whether its handler has turned the microphone off.
    package var muted = false
    /// How its audio session stands; nil until it was to be active.
    package var audio: CallAudioMessage?
    /// Who makes it ring: `app`, or `daemon` (by policy, or because its handler failed).
    package var ringer = "app"
    /// What its handler was asked to do and owes an answer to, the oldest first.
    package var pending: [PendingActionMessage] = []
    /// What kept it out; nil of a call that nothing did.
    package var restriction: RestrictionMessage?
    /// Which attempt to wake a handler this was; 0 while none has been woken.
    package var attempt: Int
    /// The handler's process, while it runs.
    package var pid: Int32?
    /// Milliseconds until it ends because it lost its handler and none has claimed it; nil while it has one.
    package var claimMs: Int64?
    /// Milliseconds until the deadline of its state; nil once ended.
    package var deadlineMs: Int64?
    /// When the push that started it arrived: ``UTCTime`` in text.
    package var receivedAt: String
    /// What happened, in order.
    package var timeline: [Hop]
}

/// What a handler was asked to do to a call.
package struct PendingActionMessage: Codable, Equatable, Sendable {
    /// `CallAction` as text: `answer`, `end`, `hold`, `unhold`, `mute`, `unmute` or `dtmf`.
    package var action: String
    /// Of `dtmf`: what to play.
    package var digits: String?
    /// Milliseconds that are left to fulfill or fail it.
    package var deadlineMs: Int64
}

/// What kept a call out.
package struct RestrictionMessage: Codable, Equatable, Sendable {
    /// `Restriction.Kind` as text: `doNotDisturb`, `blocked`, `appLimit`, `callerLimit` or `level`.
    package var kind: String
    /// What it was, for a person.
    package var detail: String
}

extension RestrictionMessage {
    package init(_ restriction: Restriction) {
        self.init(kind: restriction.kind.rawValue, detail: restriction.detail)
    }
}

/// One thing that happened to a call or a push.
package struct Hop: Codable, Equatable, Sendable {
    /// `received`, `verified`, `journaled`, `woke`, `reported`, `rang`, `answered`, `connected`, `audioActive`, `hungUp`,
    /// `ended`.
    package var stage: String
    /// Microseconds since the push's headers arrived.
    package var atUs: Int64

    package init(stage: String, atUs: Int64) {
        self.stage = stage
        self.atUs = atUs
    }
}

/// Calls: those that run, the newest first; then the call log, the newest first.
package struct CallListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var calls: [CallMessage]
    /// What to ask for as `before` to get the older ones; nil when there are none.
    package var next: Int64?
    /// Why the log is not all here: the journal could not be read. Nil when it is all here.
    package var incomplete: String?

    package init(calls: [CallMessage], next: Int64? = nil, incomplete: String? = nil) {
        self.calls = calls
        self.next = next
        self.incomplete = incomplete
    }
}
