internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// The queue from sessions, on any thread, to the loop's thread.
final class SessionRequests: Sendable {
    /// Maximum queued requests. The loop drains the queue every turn, so a longer queue means a bug.
    static let maximumRequests = 4_096

    typealias Completion = @Sendable (Result<AudioRoute, AudioSessionError>) -> Void

    enum Action: Sendable {
        case open(name: String)
        case close
        case configure(AudioSessionConfiguration)
        case overrideOutput(isSpeaker: Bool)
        case setForeground(Bool)
        case activate(Completion)
        case deactivate(notifiesOthers: Bool, Completion)
    }

    private struct State {
        var requests: [(SessionState, Action)] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wakeup: EventDescriptor

    init() throws(RunLoopError) { wakeup = try EventDescriptor(nonblocking: true) }

    /// Readable when there are requests, and when it is closed.
    var descriptor: Int32 { wakeup.number }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// - Throws: `expiredSession` after ``close()``; `unspecified` where too many requests wait.
    func post(_ action: Action, of session: SessionState) throws(AudioSessionError) {
        let refusal = state.withLock { state -> AudioSessionError? in
            if state.isClosed { return .closed }
            // A session can always be closed.
            let isClose = if case .close = action { true } else { false }
            if state.requests.count >= Self.maximumRequests, !isClose {
                return AudioSessionError(.unspecified, "too many requests wait; wait for the answers")
            }
            state.requests.append((session, action))
            return nil
        }
        if let refusal { throw refusal }
        wakeup.ring()
    }

    /// Asks the loop's thread to undo everything and to end.
    func close() {
        state.withLock { $0.isClosed = true }
        wakeup.ring()
    }

    /// Takes the queue. On the loop's thread.
    func take() -> [(SessionState, Action)] {
        wakeup.hear()
        return state.withLock { state in
            defer { state.requests = [] }
            return state.requests
        }
    }
}

extension AudioSessionError {
    static let closed = AudioSessionError(.expiredSession, "the session was closed; make another")
}
