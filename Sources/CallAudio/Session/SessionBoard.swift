internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// What sessions ask for, on its way to the loop's thread, in order.
final class SessionBoard: Sendable {
    /// Requests that wait for the loop at most: it takes each at once, so more is a mistake in a program.
    static let maximumRequests = 4_096

    typealias Completion = @Sendable (Result<AudioRoute, AudioSessionError>) -> Void

    enum Request: Sendable {
        case open(SessionSeat, name: String)
        case close(UInt64)
        case configure(UInt64, AudioSessionConfiguration)
        case overrideOutput(UInt64, isSpeaker: Bool)
        case setForeground(UInt64, Bool)
        case activate(UInt64, Completion)
        case deactivate(UInt64, notifiesOthers: Bool, Completion)
    }

    private struct State {
        var requests: [Request] = []
        var nextNumber: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let bell: EventDescriptor

    init() throws(RunLoopError) {
        bell = try EventDescriptor(nonblocking: true)
    }

    /// Readable when there are requests, and when it is closed.
    var descriptor: Int32 { bell.number }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func makeNumber() -> UInt64 {
        state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
    }

    /// - Returns: Why it is not taken; nil when it is.
    func post(_ request: Request) -> AudioSessionError? {
        let refusal = state.withLock { state -> AudioSessionError? in
            guard !state.isClosed else {
                return AudioSessionError(.expiredSession, "the session was closed; make another")
            }
            // A session can always be closed.
            if case .close = request {
            } else if state.requests.count >= Self.maximumRequests {
                return AudioSessionError(.unspecified, "too many requests wait; wait for the answers")
            }
            state.requests.append(request)
            return nil
        }
        if refusal == nil { bell.ring() }
        return refusal
    }

    /// Asks the loop's thread to put everything back and to end.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
    }

    /// What has been asked for since this was asked last. On the loop's thread.
    func take() -> [Request] {
        bell.hear()
        return state.withLock { state in
            defer { state.requests = [] }
            return state.requests
        }
    }
}
