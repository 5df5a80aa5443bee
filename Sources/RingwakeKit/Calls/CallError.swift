/// Why a request about a call failed.
///
///     } catch where error.code == .filtered {
///         log("blocked by \(error.filter)")
///     }
public struct CallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The call does not ring: ``CallError/filter`` blocked it.
        public static let filtered = Code(rawValue: "filtered")
        /// The call does not ring: another one is in progress, and the app's policy rejects calls then.
        public static let busy = Code(rawValue: "busy")
        /// The call has ended, for ``CallError/endReason``.
        public static let alreadyEnded = Code(rawValue: "alreadyEnded")
        /// The app has no such call.
        public static let unknownCall = Code(rawValue: "unknownCall")
        /// The call belongs to another handler, or has to be claimed first.
        public static let notOwned = Code(rawValue: "notOwned")
        /// The request does not fit the call's ``CallError/state``.
        public static let wrongState = Code(rawValue: "wrongState")
        /// The daemon does not run or did not answer in time. It may have carried out the request.
        public static let noAnswer = Code(rawValue: "noAnswer")
        /// The daemon refused for another reason: ``CallError/cause``.
        public static let refused = Code(rawValue: "refused")
    }

    public let code: Code
    /// What happened, for a person.
    public let message: String
    /// What blocked the call; only with the code `filtered`.
    public private(set) var filter: CallFilter?
    /// Why the call ended; only with the codes `filtered`, `busy` and `alreadyEnded`.
    public private(set) var endReason: CallEndReason?
    /// The call's state; only with the code `wrongState`.
    public private(set) var state: CallState?
    /// The failure of the request; only with the codes `noAnswer` and `refused`.
    public private(set) var cause: RingwakeKitError?

    private init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    static let unknownCall = CallError(.unknownCall, "the daemon has no such call")

    static func notOwned(_ message: String) -> CallError { CallError(.notOwned, message) }

    static func wrongState(_ state: CallState) -> CallError {
        var error = CallError(.wrongState, "this does not fit the call's state, which is \(state)")
        error.state = state
        return error
    }

    /// - Parameters:
    ///   - reason: why the call ended.
    ///   - filter: what blocked it, if a filter did, and details for a person.
    static func ended(_ reason: CallEndReason, filter: (by: CallFilter, detail: String)? = nil) -> CallError {
        var error =
            if let filter {
                CallError(.filtered, "blocked by \(filter.by): \(filter.detail)")
            } else if reason == .busy {
                CallError(.busy, "another call is in progress, and the app refuses further ones then")
            } else {
                CallError(.alreadyEnded, "the call has ended: \(reason)")
            }
        error.filter = filter?.by
        error.endReason = reason
        return error
    }

    /// The daemon refused a request that is about no call yet.
    init(refused cause: RingwakeKitError) {
        self.init(.refused, cause.message)
        self.cause = cause
    }

    /// The error of a failed request.
    init(_ cause: RingwakeKitError) {
        switch cause.code {
        case .notFound:
            self = .unknownCall
            return
        case .timedOut, .unreachable, .daemonNotRunning, .closed: self.init(.noAnswer, cause.message)
        default: self.init(.refused, cause.message)
        }
        self.cause = cause
    }

    /// Whether this says that the call has ended.
    var isEnd: Bool { endReason != nil }
}
