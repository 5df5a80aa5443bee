internal import RunLoop
internal import Synchronization

/// What all objects of a client read: written on the client's thread.
final class ClientHub: Sendable {
    private struct State {
        var credentials: [PushCredentials] = []
        var calls: [CallInfo] = []
    }

    let connection = Observers<ConnectionState>(value: .connecting)
    let pushes = EventRelay<PushRegistryEvent>()
    let actions = EventRelay<CallAction>()
    let calls = EventRelay<CallEvent>()
    private let state = Mutex(State())

    var credentials: [PushCredentials] { state.withLock { $0.credentials } }
    var activeCalls: [CallInfo] { state.withLock { $0.calls } }

    func publish(_ credentials: [PushCredentials]) {
        state.withLock { $0.credentials = credentials }
    }

    func publish(_ calls: [CallInfo]) {
        state.withLock { $0.calls = calls }
    }

    /// Nothing follows any more.
    func finish() {
        connection.tell(.closed)
        connection.finish()
        pushes.finish()
        actions.finish()
        calls.finish()
    }
}
