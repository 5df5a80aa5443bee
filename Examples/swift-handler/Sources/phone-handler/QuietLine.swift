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

    func takeOver(_ call: String) async throws {}
    func answer(_ call: String) async throws {}
    func setHeld(_ call: String, _ isHeld: Bool) async throws {}
    func setMuted(_ call: String, _ isMuted: Bool) async throws {}
    func play(_ digits: String, in call: String) async throws {}
    func end(_ call: String) async {}
    func networkChanged(_ call: String) async {}
    func rest() async {}
}
