/// What a user wants done, in order: CallKit's `CXTransaction`.
public struct CallTransaction: Hashable, Sendable {
    /// One thing that is done to one call.
    public struct Step: Hashable, Sendable {
        /// What becomes of the other calls that go on.
        public enum OtherCalls: String, Hashable, Sendable {
            case hold
            case end
        }

        enum Deed: Hashable, Sendable {
            case answer(OtherCalls?)
            case decline
            case end
            case hold
            case unhold(OtherCalls?)
            case mute
            case unmute
            case dtmf(String)
        }

        /// The call's id.
        public let call: String
        /// Whose call it is; nil: the client's.
        public let app: String?
        let deed: Deed

        private init(_ call: String, _ app: String?, _ deed: Deed) {
            self.call = call
            self.app = app
            self.deed = deed
        }

        /// Take the ringing call. Other calls are held or ended first; nil: as the app's policy says.
        public static func answer(_ call: String, app: String? = nil, others: OtherCalls? = nil) -> Step {
            Step(call, app, .answer(others))
        }
        /// Refuse the ringing call.
        public static func decline(_ call: String, app: String? = nil) -> Step { Step(call, app, .decline) }
        /// Hang up, in any state.
        public static func end(_ call: String, app: String? = nil) -> Step { Step(call, app, .end) }
        /// Hold the connected call.
        public static func hold(_ call: String, app: String? = nil) -> Step { Step(call, app, .hold) }
        /// Go on with the held call. Other calls are held or ended first; nil: as the app's policy says.
        public static func unhold(_ call: String, app: String? = nil, others: OtherCalls? = nil) -> Step {
            Step(call, app, .unhold(others))
        }
        /// Turn the microphone off.
        public static func mute(_ call: String, app: String? = nil) -> Step { Step(call, app, .mute) }
        /// Turn the microphone on again.
        public static func unmute(_ call: String, app: String? = nil) -> Step { Step(call, app, .unmute) }
        /// Play 1 to 32 digits: `0` to `9`, `*`, `#`, `A` to `D`, and `,` for a pause.
        public static func dtmf(_ call: String, app: String? = nil, digits: String) -> Step {
            Step(call, app, .dtmf(digits))
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

/// A transaction that was not done to its end.
public struct CallTransactionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The step that failed. Those after it were not tried.
    public let failed: CallTransaction.Step
    /// Why it failed.
    public let error: CallError
    /// The steps before it, which were done and stay so.
    public let done: [CallTransaction.Step]

    public var description: String { "call '\(failed.call)': \(error)" }
}
