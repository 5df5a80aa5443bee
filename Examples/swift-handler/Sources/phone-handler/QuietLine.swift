import CallHandling
import RingwakeKit

/// A line without media: every call arrives immediately, everybody answers at once, and every action succeeds.
struct QuietLine: Line {
    /// The payload of this app's sender.
    private struct Payload: Decodable {
        let caller: String?
        let name: String?
    }

    private let answers = AsyncStream.makeStream(of: Call.ID.self)
    var remoteAnswers: AsyncStream<Call.ID> { answers.stream }
    let remoteEnds = AsyncStream<RemoteEnd> { _ in }

    func awaitCall(_ push: IncomingPush) async throws -> CallUpdate? {
        // A real app asks its server here whether the call still exists.
        let payload = try push.decode(Payload.self)
        return CallUpdate(caller: payload.caller, callerName: payload.name)
    }

    func takeOver(_ call: Call.ID) async throws {}
    func dial(_ call: Call.ID, _ other: String) async throws { answers.continuation.yield(call) }
    func answer(_ call: Call.ID) async throws {}
    func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws {}
    func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws {}
    func play(_ digits: String, in call: Call.ID) async throws {}
    func end(_ call: Call.ID) async {}
    func networkChanged(_ call: Call.ID) async {}
    func rest() async {}
}
