import CallHandling
import RingwakeKit
import Synchronization

/// A line of a test: it notes what it is asked for, and does as the test says.
final class TestLine: Line {
    struct Broken: Error {}

    private struct State {
        var done: [String] = []
        var waiting: [Call.ID: AsyncStream<CallUpdate?>.Continuation] = [:]
    }

    private let state = Mutex(State())
    private let ends = AsyncStream.makeStream(of: RemoteEnd.self)
    private let answers = AsyncStream.makeStream(of: Call.ID.self)
    /// Whether calls are there only when the test says so, by ``arrives(_:_:)``.
    private let isSlow: Bool
    private let breaks: Set<String>

    /// - Parameter breaks: what it cannot do: `answer`, `hold`.
    init(isSlow: Bool = false, breaks: Set<String> = []) {
        self.isSlow = isSlow
        self.breaks = breaks
    }

    var remoteEnds: AsyncStream<RemoteEnd> { ends.stream }
    var remoteAnswers: AsyncStream<Call.ID> { answers.stream }
    /// What it was asked for.
    var done: [String] { state.withLock { $0.done } }

    func answerRemotely(_ call: Call.ID) { answers.continuation.yield(call) }
    func endRemotely(_ call: Call.ID) { ends.continuation.yield(RemoteEnd(call, .remoteEnded)) }

    /// The call that is waited for is there.
    func arrives(_ call: Call.ID, _ update: CallUpdate) {
        _ = state.withLock { $0.waiting[call] }?.yield(update)
    }

    func awaitCall(_ push: IncomingPush) async throws -> CallUpdate? {
        guard isSlow else { return CallUpdate(caller: "sip:test@example.org") }
        let (stream, continuation) = AsyncStream.makeStream(of: CallUpdate?.self)
        state.withLock { $0.waiting[push.call] = continuation }
        note("awaits \(push.call)")
        for await update in stream { return update }
        return nil
    }

    func takeOver(_ call: Call.ID) async throws { try perform("takeOver", call) }
    func dial(_ call: Call.ID, _ other: String) async throws { try perform("dial \(other)", call) }
    func answer(_ call: Call.ID) async throws { try perform("answer", call) }
    func setHeld(_ call: Call.ID, _ isHeld: Bool) async throws { try perform(isHeld ? "hold" : "unhold", call) }
    func setMuted(_ call: Call.ID, _ isMuted: Bool) async throws { try perform(isMuted ? "mute" : "unmute", call) }
    func play(_ digits: String, in call: Call.ID) async throws { try perform("play \(digits)", call) }
    func networkChanged(_ call: Call.ID) async { note("network \(call)") }
    func rest() async { note("rest") }

    func end(_ call: Call.ID) async {
        note("end \(call)")
        state.withLock { $0.waiting.removeValue(forKey: call) }?.finish()
    }

    private func perform(_ what: String, _ call: Call.ID) throws {
        if breaks.contains(what) { throw Broken() }
        note("\(what) \(call)")
    }

    private func note(_ what: String) { state.withLock { $0.done.append(what) } }
}
