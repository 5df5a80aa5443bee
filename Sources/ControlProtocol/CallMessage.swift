/// One call: where it stands, and how it came there.
package struct CallMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its id within its app.
    package var call: String
    /// Its app's bundle id.
    package var app: String
    /// `woken`, `reported`, `ringing`, `answering`, `connected`, `ending` or `ended`.
    package var state: String
    /// Why it ended; nil while it has not.
    package var reason: String?
    /// More on why it ended, for a person: an exit status, a deadline.
    package var detail: String?
    /// The `apns-id` of the push that started it.
    package var apnsId: String
    /// Who calls, as the handler reported.
    package var caller: String?
    /// The caller's name, as the handler reported.
    package var callerName: String?
    /// Whether it has video.
    package var video: Bool
    /// Which attempt to wake a handler this was.
    package var attempt: Int
    /// The handler's process, while it runs.
    package var pid: Int32?
    /// Milliseconds until the deadline of its state; nil once ended.
    package var deadlineMs: Int64?
    /// What happened, in order.
    package var timeline: [Hop]

    package init(
        call: String, app: String, state: String, reason: String?, detail: String?, apnsId: String, caller: String?,
        callerName: String?, video: Bool, attempt: Int, pid: Int32?, deadlineMs: Int64?, timeline: [Hop]
    ) {
        self.call = call
        self.app = app
        self.state = state
        self.reason = reason
        self.detail = detail
        self.apnsId = apnsId
        self.caller = caller
        self.callerName = callerName
        self.video = video
        self.attempt = attempt
        self.pid = pid
        self.deadlineMs = deadlineMs
        self.timeline = timeline
    }

    /// One thing that happened to a call.
    package struct Hop: Codable, Equatable, Sendable {
        /// `received`, `verified`, `woke`, `reported`, `rang`, `answered`, `connected`, `ended`, ...
        package var stage: String
        /// Microseconds since the push's headers arrived.
        package var atUs: Int64

        package init(stage: String, atUs: Int64) {
            self.stage = stage
            self.atUs = atUs
        }
    }
}

/// Calls, the newest first: those that run and the last that ended.
package struct CallListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var calls: [CallMessage]

    package init(calls: [CallMessage]) {
        self.calls = calls
    }
}
