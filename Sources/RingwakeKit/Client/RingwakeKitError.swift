/// Why a request to the daemon failed, or the daemon refused it.
///
///     do {
///         try await directory.add([.init("+49900*")], to: "spam")
///     } catch where error.code == .notPermitted {
///         print(error.message)
///     }
public struct RingwakeKitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure, by its name in the control API's `error`: `not-permitted`.
    public struct Code: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The daemon could not carry out the request.
        public static let failed = Code(rawValue: "failed")
        /// The request is invalid: an argument, the environment, or bytes that are not the expected JSON.
        public static let invalidRequest = Code(rawValue: "invalid-request")
        /// No daemon listens on the control socket.
        public static let daemonNotRunning = Code(rawValue: "daemon-not-running")
        /// This process may not do this: it is not the daemon's user, or not a handler of that app.
        public static let notPermitted = Code(rawValue: "not-permitted")
        /// No such app, call or list.
        public static let notFound = Code(rawValue: "not-found")
        /// There was no answer in time. The daemon may have carried out the request.
        public static let timedOut = Code(rawValue: "timed-out")
        /// The connection broke before the answer. The daemon may have carried out the request.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The request does not fit the current state, for example of the call.
        public static let conflict = Code(rawValue: "conflict")
        /// A limit was reached: waiting requests, calls, entries.
        public static let limitReached = Code(rawValue: "limit-reached")
        /// The daemon sent something that this version does not understand.
        public static let badAnswer = Code(rawValue: "bad-answer")
        /// The client was closed.
        public static let closed = Code(rawValue: "closed")
        /// The system refuses a socket, a descriptor or a thread.
        public static let system = Code(rawValue: "system")
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, why, and what to do about it, as one line for a person.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}
