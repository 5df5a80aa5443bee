internal import Synchronization

/// Who is told events of one kind. Events are told on the client's thread; while nobody listens they wait.
final class EventRelay<Event: Sendable>: Sendable {
    /// Events that wait at most, here and in a stream that is not read. Of more the oldest go.
    static var capacity: Int { 1_024 }

    private struct Observer: Sendable {
        let body: @Sendable (Event) -> Void
        let finish: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Event] = []
        var observers: [UInt64: Observer] = [:]
        /// Those that left before they had joined.
        var removed: Set<UInt64> = []
        var nextNumber: UInt64 = 0
        var isFinished = false

        mutating func takeNumber() -> UInt64 {
            nextNumber += 1
            return nextNumber
        }
    }

    private let state = Mutex(State())

    /// Tells all of them. On the client's thread.
    func tell(_ event: Event) {
        let observers = state.withLock { state -> [Observer] in
            guard !state.isFinished else { return [] }
            if state.observers.isEmpty {
                if state.waiting.count >= Self.capacity { state.waiting.removeFirst() }
                state.waiting.append(event)
            }
            return state.observers.sorted { $0.key < $1.key }.map(\.value)
        }
        for observer in observers { observer.body(event) }
    }

    /// Nothing follows any more. Idempotent.
    func finish() {
        let observers = state.withLock { state in
            state.isFinished = true
            defer { state = State(isFinished: true) }
            return Array(state.observers.values)
        }
        for observer in observers { observer.finish() }
    }

    /// Calls `body` with what waits, and with each event from then on.
    func add(_ body: @escaping @Sendable (Event) -> Void, on port: ClientPort) {
        let number = state.withLock { $0.takeNumber() }
        join(number, Observer(body: body, finish: {}), on: port)
    }

    /// A stream of what waits and each event from then on.
    /// - Parameter owner: Lives as long as the stream has a reader.
    func stream(holding owner: any Sendable, on port: ClientPort) -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.capacity))
        let number = state.withLock { $0.takeNumber() }
        // Until the stream ends, or its last reader is gone: then this closure goes, and the owner with it.
        continuation.onTermination = { _ in
            withExtendedLifetime(owner) { self.remove(number) }
        }
        join(number, Observer(body: { continuation.yield($0) }, finish: { continuation.finish() }), on: port)
        return stream
    }

    /// On the client's thread, so that what waits comes before what follows.
    private func join(_ number: UInt64, _ observer: Observer, on port: ClientPort) {
        let isPosted = port.post { _ in
            let waiting = self.state.withLock { state -> [Event]? in
                guard !state.isFinished, state.removed.remove(number) == nil else { return nil }
                state.observers[number] = observer
                defer { state.waiting = [] }
                return state.waiting
            }
            guard let waiting else { return observer.finish() }
            for event in waiting { observer.body(event) }
        }
        if !isPosted { observer.finish() }
    }

    private func remove(_ number: UInt64) {
        // What the closures hold goes when the lock is free again: its deinit may call anything here.
        _ = state.withLock { state -> Observer? in
            let observer = state.observers.removeValue(forKey: number)
            if observer == nil, !state.isFinished { state.removed.insert(number) }
            return observer
        }
    }
}
