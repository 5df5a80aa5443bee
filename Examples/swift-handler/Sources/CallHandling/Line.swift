import RingwakeKit

/// What carries the calls: the part that a real app brings along.
///
/// Calls are named by the id that the push has. Everything may be called for several calls at a time.
public protocol Line: Sendable {
    /// A push says that a call is coming. Makes ready for it, and returns who calls once the call is there.
    ///
    /// - Returns: Nil when the call is over already, and when the task is cancelled, for then it is.
    /// - Throws: The call cannot be taken.
    func awaitCall(_ push: IncomingPush) async throws -> CallUpdate?

    /// A call of a process that is gone: goes on with it.
    ///
    /// - Throws: There is no such call here.
    func takeOver(_ call: Call.ID) async throws

    func answer(_ call: Call.ID) async throws
    func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws
    func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws
    func play(_ digits: String, in call: Call.ID) async throws

    /// Ends a call in any state. One that is not there is no error.
    func end(_ call: Call.ID) async

    /// The network changed under a call: tell the other side where this one is now.
    func networkChanged(_ call: Call.ID) async

    /// Calls that the other side ended.
    var remoteEnds: AsyncStream<RemoteEnd> { get }

    /// There is no call any more.
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
