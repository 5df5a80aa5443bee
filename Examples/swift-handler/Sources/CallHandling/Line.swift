import RingwakeKit

/// Carries the calls: a real app brings its own.
///
/// A call's id is the one in the push. Every method may be called for several calls at a time.
public protocol Line: Sendable {
    /// Prepares for the call that a push announces, and returns the caller when the call has arrived.
    ///
    /// - Returns: Nil if the call has already ended, or if the task is cancelled because the call ended.
    /// - Throws: If the line cannot accept the call.
    func awaitCall(_ push: IncomingPush) async throws -> CallUpdate?

    /// Continues a call of a process that has ended.
    ///
    /// - Throws: If the line has no such call.
    func takeOver(_ call: Call.ID) async throws

    /// Calls somebody. Returns when that is on its way; ``remoteAnswers`` and ``remoteEnds`` say what becomes of it.
    ///
    /// - Throws: If the line cannot call `other`.
    func dial(_ call: Call.ID, _ other: String) async throws

    func answer(_ call: Call.ID) async throws
    func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws
    func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws
    func play(_ digits: String, in call: Call.ID) async throws

    /// Ends a call in any state. A missing call is not an error.
    func end(_ call: Call.ID) async

    /// The network changed during a call: send the new address to the other side.
    func networkChanged(_ call: Call.ID) async

    /// Calls of the user's that the other side has answered.
    var remoteAnswers: AsyncStream<Call.ID> { get }

    /// Calls that the other side ended.
    var remoteEnds: AsyncStream<RemoteEnd> { get }

    /// The last call has ended.
    func rest() async
}

/// The other side ended a call.
public struct RemoteEnd: Sendable {
    public let call: Call.ID
    public let reason: CallEndReason

    public init(_ call: Call.ID, _ reason: CallEndReason) {
        self.call = call
        self.reason = reason
    }
}
