/// A user's requests, in order: CallKit's `CXTransaction`.
public struct CallTransaction: Hashable, Sendable {
    /// One request about one call.
    public struct Step: Hashable, Sendable {
        enum Request: Hashable, Sendable {
            case answer(OtherCalls?)
            case decline
            case end
            case hold
            case unhold(OtherCalls?)
            case mute
            case unmute
            case dtmf(String)
            case merge(Call.ID)
        }

        public let call: Call.ID
        /// The app that the call belongs to; nil: the client's.
        public let app: String?
        let request: Request

        private init(_ call: Call.ID, _ app: String?, _ request: Request) {
            self.call = call
            self.app = app
            self.request = request
        }

        /// Answer the ringing call. The daemon first holds or ends other calls; nil: as the app's policy says.
        public static func answer(_ call: Call.ID, app: String? = nil, others: OtherCalls? = nil) -> Step {
            Step(call, app, .answer(others))
        }
        /// Decline the ringing call.
        public static func decline(_ call: Call.ID, app: String? = nil) -> Step { Step(call, app, .decline) }
        /// Hang up, in any state.
        public static func end(_ call: Call.ID, app: String? = nil) -> Step { Step(call, app, .end) }
        /// Hold the connected call.
        public static func hold(_ call: Call.ID, app: String? = nil) -> Step { Step(call, app, .hold) }
        /// Resume the held call. The daemon first holds or ends other calls; nil: as the app's policy says.
        public static func unhold(_ call: Call.ID, app: String? = nil, others: OtherCalls? = nil) -> Step {
            Step(call, app, .unhold(others))
        }
        /// Mute the microphone.
        public static func mute(_ call: Call.ID, app: String? = nil) -> Step { Step(call, app, .mute) }
        /// Unmute the microphone.
        public static func unmute(_ call: Call.ID, app: String? = nil) -> Step { Step(call, app, .unmute) }
        /// Play 1 to 32 digits: `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause.
        public static func playDigits(_ digits: String, to call: Call.ID, app: String? = nil) -> Step {
            Step(call, app, .dtmf(digits))
        }
        /// Merge the call with another one of the same app: one of them connected, the other held, or both in
        /// conferences; CallKit's `CXSetGroupCallAction`. Both have ``Call/supportsMerging``, and one handler has them.
        public static func merge(_ call: Call.ID, with other: Call.ID, app: String? = nil) -> Step {
            Step(call, app, .merge(other))
        }
    }

    public var steps: [Step]

    public init(_ steps: Step...) {
        self.steps = steps
    }

    public init(steps: [Step]) {
        self.steps = steps
    }
}

/// A transaction that failed at one of its steps.
public struct CallTransactionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The step that failed. The steps after it were not tried.
    public let failed: CallTransaction.Step
    /// Why it failed.
    public let error: CallError
    /// The steps before it. They succeeded and are not undone.
    public let done: [CallTransaction.Step]

    public var description: String { "call '\(failed.call)': \(error)" }
}
