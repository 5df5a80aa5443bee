/// Why the daemon could not be asked, or refused.
///
///     do {
///         try await directory.add([.init("+49900*")], to: "spam")
///     } catch where error.code == .notPermitted {
///         print(error.message)
///     }
public struct RingwakeKitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A stable name for a kind of failure. A struct, so that a new code breaks nobody's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name, as in the control API's `error`: `not-permitted`.
        public let name: String

        init(_ name: String) {
            self.name = name
        }

        public var description: String { name }

        /// It was tried and failed.
        public static let failed = Code("failed")
        /// What was asked makes no sense: an argument, the environment, bytes that are no JSON of that kind.
        public static let invalidRequest = Code("invalid-request")
        /// No daemon answers on the control socket.
        public static let daemonNotRunning = Code("daemon-not-running")
        /// This process may not do this: it is not the daemon's user, or no handler of that app.
        public static let notPermitted = Code("not-permitted")
        /// No such app, call or list.
        public static let notFound = Code("not-found")
        /// There was no answer in time. What was asked for may have been done.
        public static let timedOut = Code("timed-out")
        /// The connection broke before the answer. What was asked for may have been done.
        public static let unreachable = Code("unreachable")
        /// It does not fit the state that the thing is in.
        public static let conflict = Code("conflict")
        /// A bound was reached: too many requests that wait, calls, entries.
        public static let limitReached = Code("limit-reached")
        /// What came is not what a ringwaked of this version sends.
        public static let badAnswer = Code("bad-answer")
        /// The client was closed.
        public static let closed = Code("closed")
        /// The system refuses a socket, a descriptor or a thread.
        public static let system = Code("system")
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened, why, and what to do about it, as one line for a person.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.name): \(message)" }
}
