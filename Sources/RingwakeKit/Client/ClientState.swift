internal import FoundationEssentials
internal import RunLoop
internal import Synchronization

/// The state that all objects of a client read. The client's thread writes it.
final class ClientState: Sendable {
    private final class Values: Sendable {
        let credentials = Mutex<[PushCredentials]>([])
        let calls = Mutex<[Call]>([])
        let daemon = Mutex<DaemonVersion?>(nil)
        let vendorIdentifier = Mutex<UUID?>(nil)

        func activeCalls() -> Set<Call.ID> { Set(calls.withLock { $0 }.map(\.id)) }
    }

    let connection = Observers<ConnectionState>(value: .connecting)
    let protectedData = Observers<ProtectedDataAvailability>(value: .available)
    let callList = Observers<[Call]>(value: [])
    let telephony = Observers<[String: CellularNetwork]>(value: [:])
    let restrictions = Observers<Restrictions>(value: Restrictions())
    let pushes: EventPublisher<PushRegistryEvent>
    let actions: EventPublisher<CallAction>
    let events: EventPublisher<CallEvent>
    private let values: Values

    init() {
        let values = Values()
        self.values = values
        pushes = EventPublisher(activeCalls: values.activeCalls)
        actions = EventPublisher(activeCalls: values.activeCalls)
        events = EventPublisher(activeCalls: values.activeCalls)
    }

    var credentials: [PushCredentials] { values.credentials.withLock { $0 } }
    var calls: [Call] { values.calls.withLock { $0 } }

    var daemon: DaemonVersion? { values.daemon.withLock { $0 } }

    var vendorIdentifier: UUID? { values.vendorIdentifier.withLock { $0 } }

    func set(vendorIdentifier: UUID?) { values.vendorIdentifier.withLock { $0 = vendorIdentifier } }

    func set(_ daemon: DaemonVersion?) { values.daemon.withLock { $0 = daemon } }

    func set(_ credentials: [PushCredentials]) { values.credentials.withLock { $0 = credentials } }

    /// On the client's thread.
    func set(_ calls: [Call]) {
        let isNew = values.calls.withLock { known in
            defer { known = calls }
            return known != calls
        }
        if isNew { callList.notify(calls) }
    }

    /// Ends every stream.
    func finish() {
        connection.notify(.closed)
        connection.finish()
        protectedData.finish()
        restrictions.finish()
        telephony.finish()
        callList.finish()
        pushes.finish()
        actions.finish()
        events.finish()
    }
}
