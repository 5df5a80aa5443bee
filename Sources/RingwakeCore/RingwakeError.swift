/// The error that the functions of every module of Ringwake throw.
///
/// The code is stable and has one HTTP status, one CLI exit status and one line in `Documentation/errors.md`. The
/// message says what happened, why, and what to do.
package struct RingwakeError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What kind of failure this is.
    package let code: Code
    /// What happened, why, and what to do about it, as one line for a person.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.slug): \(message)" }

    /// Data that can't be read while their class is locked.
    /// - Parameter what: the data, as the subject of a sentence.
    package static func locked(_ protection: ProtectionClass, _ what: String) -> RingwakeError {
        RingwakeError(
            .locked,
            "\(what) can't be read now: its protection class \(protection.rawValue) is locked; unlock the device")
    }

    /// An app that isn't configured, as somebody named it.
    package static func noApp(_ name: String) -> RingwakeError {
        RingwakeError(.notFound, "no app '\(name)' is configured; 'ringwake app list' shows those that are")
    }
}

extension RingwakeError {
    /// A stable name for a kind of failure. A struct, so that a new code doesn't break a `switch`.
    package struct Code: Hashable, Sendable {
        /// The name in JSON (`"error"`), in logs and in `Documentation/errors.md`.
        package let slug: String
        /// The status that the control API answers with.
        package let httpStatus: Int
        /// The exit status of `ringwake` and `ringwaked`.
        package let exitStatus: Int32

        private init(_ slug: String, http: Int, exit: Int32) {
            self.slug = slug
            self.httpStatus = http
            self.exitStatus = exit
        }

        /// The operation was tried and failed.
        package static let failed = Code("failed", http: 500, exit: 1)
        /// The request or the command line makes no sense.
        package static let invalidRequest = Code("invalid-request", http: 400, exit: 2)
        /// No daemon answers on the control socket.
        package static let daemonNotRunning = Code("daemon-not-running", http: 503, exit: 3)
        /// The caller may not do this.
        package static let notPermitted = Code("not-permitted", http: 403, exit: 4)
        /// No such app, call, file or token.
        package static let notFound = Code("not-found", http: 404, exit: 5)
        /// A deadline passed.
        package static let timedOut = Code("timed-out", http: 504, exit: 6)
        /// The push service refused the push; the message holds its reason.
        package static let rejectedByPeer = Code("rejected-by-peer", http: 502, exit: 7)
        /// The peer could not be reached, or closed the connection.
        package static let unreachable = Code("unreachable", http: 502, exit: 8)
        /// A configuration file is wrong; the message names file, line and key.
        package static let badConfiguration = Code("bad-configuration", http: 500, exit: 9)
        /// The request does not fit the current state.
        package static let conflict = Code("conflict", http: 409, exit: 1)
        /// A limit was reached: too many calls, connections or bytes.
        package static let limitReached = Code("limit-reached", http: 429, exit: 1)
        /// A certificate, a key or a signature is invalid.
        package static let badCredential = Code("bad-credential", http: 400, exit: 1)
        /// An address, a path or a lock is held by another process.
        package static let inUse = Code("in-use", http: 409, exit: 1)
        /// Protected data can't be read now, because their class is locked.
        package static let locked = Code("locked", http: 423, exit: 1)
        /// A file or a socket of the system could not be used.
        package static let system = Code("system", http: 500, exit: 1)

        /// Every code. A test compares `Documentation/errors.md` with it.
        package static let all: [Code] = [
            failed, invalidRequest, daemonNotRunning, notPermitted, notFound, timedOut, rejectedByPeer, unreachable,
            badConfiguration, conflict, limitReached, badCredential, inUse, locked,
            system,
        ]
    }
}
