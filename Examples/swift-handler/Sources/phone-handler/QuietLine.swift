import CallHandling
import RingwakeKit

/// A line that carries nothing: every call is there at once, and whatever is asked for works.
struct QuietLine: Line {
    /// What this app's sender puts into a push.
    private struct Payload: Decodable {
        let caller: String?
        let name: String?
    }

    let remoteEnds = AsyncStream<RemoteEnd> { _ in }

    func awaitCall(_ push: IncomingPush) async throws -> CallUpdate? {
        // A real app asks its server here whether the call still stands.
        let payload = try push.decode(Payload.self)
        return CallUpdate(caller: payload.caller, callerName: payload.name)
    }

    func takeOver(_ call: Call.ID) async throws {}
    func answer(_ call: Call.ID) async throws {}
    func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws {}
    func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws {}
    func play(_ digits: String, in call: Call.ID) async throws {}
    func end(_ call: Call.ID) async {}
    func networkChanged(_ call: Call.ID) async {}
    func rest() async {}
}
