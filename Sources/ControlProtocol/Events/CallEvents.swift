// What happens to a call, and what its handler has to do.
extension EventMessage {
    /// The call's state changed, its caller became known, its microphone was muted or not, or its handler was lost or
    /// found again. Also the state of each call when a stream begins.
    package struct CallChange: EventContent {
        package static let name = Name.call

        package enum CodingKeys: String, CodingKey, CaseIterable {
            case app, call, number, outgoing, state, endReason, deadlineMs, claimMs, connectedMs, answeredBy, muted
            case caller, callerName, video, identifiedAs, supportsHold, supportsDTMF, supportsMerge
            case conference, atUs
        }

        package var app, call: String
        /// Unique number of the call, even across restarts. A later call has a higher one.
        package var number: Int64
        /// Whether the user of this device began the call; nil: no.
        package var outgoing: Bool?
        /// `CallMessage.state`, after the event.
        package var state: String
        /// Why the call ended, or is ending.
        package var endReason: String?
        /// Milliseconds until the state's deadline.
        package var deadlineMs: Int64?
        /// Milliseconds until the call ends because it lost its handler and none has claimed it.
        package var claimMs: Int64?
        /// Milliseconds since the two sides were connected, held or not; of a call that has ended, how long they were.
        /// Nil: they never were.
        package var connectedMs: Int64?
        /// `Hop.by` of the answer: who answered instead of the user; nil: the user did, or nobody.
        package var answeredBy: String?
        /// Whether the handler has muted the microphone.
        package var muted: Bool
        /// The caller, once known; in an outgoing call, this and the next are who is called.
        package var caller: String?
        /// The caller's name.
        package var callerName: String?
        /// Whether the call has video; nil: unknown.
        package var video: Bool?
        /// The caller according to an identification list: a guess.
        package var identifiedAs: String?
        /// `false`: the handler can't hold the call; nil: it can, as far as known.
        package var supportsHold: Bool?
        /// `false`: the handler can't play digits in the call; nil: it can, as far as known.
        package var supportsDTMF: Bool?
        /// `true`: the handler can mix the call with another one; nil: it can't, as far as known.
        package var supportsMerge: Bool?
        /// Number of the conference that the call is in; nil: none.
        package var conference: Int64?
        /// Microseconds since the push, or the request to call, arrived.
        package var atUs: Int64
    }

    /// The handler has to do something, and report that it is done or failed.
    package struct Action: EventContent {
        package static let name = Name.action

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, action, digits, with, deadlineMs }

        package var app, call: String
        /// `CallAction` as text.
        package var action: String
        /// The digits to play; only with the action `dtmf`.
        package var digits: String?
        /// ID of the call to mix it with; only with the action `merge`.
        package var with: String?
        /// Milliseconds until the action's deadline.
        package var deadlineMs: Int64
    }

    /// The handler did not do its part in the call.
    package struct Strike: EventContent {
        package static let name = Name.strike

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, failure }

        package var app, call: String
        /// `HandlerFailure` as text.
        package var failure: String
    }

    /// The call was kept out.
    package struct Restricted: EventContent {
        package static let name = Name.restricted

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, restriction }

        package var app, call: String
        package var restriction: RestrictionMessage
    }

    /// The call ended, and nobody answered or declined it anywhere.
    package struct Missed: EventContent {
        package static let name = Name.missed

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, endReason, caller }

        package var app, call: String
        package var endReason: String?
        package var caller: String?
    }
}
