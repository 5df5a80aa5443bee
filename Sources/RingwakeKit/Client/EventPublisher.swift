internal import Synchronization

/// The key of a queued event: a later event with the same key makes it obsolete.
struct EventKey: Hashable, Sendable {
    let kind: String
    /// The event's call; nil if the event isn't about a call.
    let call: Call.ID?

    init(_ kind: String, _ call: Call.ID? = nil) {
        self.kind = kind
        self.call = call
    }
}

/// An event that waits for a reader.
protocol QueuedEvent: Sendable {
    var key: EventKey { get }
}

/// Events that wait for a reader, in order.
///
/// Keeps every event until there are more than ``capacity``. Then it drops the events that no reader needs any more:
/// those with the key of a later event, and all but the newest ones of calls that have ended. The rest is bounded by
/// the calls in progress, which the daemon limits.
struct EventQueue<Event: QueuedEvent>: Sendable {
    static var capacity: Int { 1_024 }

    private(set) var events: [Event] = []
    /// Compacts again only above this count.
    private var limit = capacity

    /// - Parameter active: the calls in progress.
    mutating func append(_ event: Event, active: () -> Set<Call.ID>) {
        events.append(event)
        if events.count > limit { compact(active()) }
    }

    private mutating func compact(_ active: Set<Call.ID>) {
        var seen: Set<EventKey> = []
        var kept: [Event] = []
        // Of ended calls, keep only the newest events.
        var room = Self.capacity / 2
        for event in events.reversed() {
            let key = event.key
            guard seen.insert(key).inserted else { continue }
            if let call = key.call, !active.contains(call) {
                guard room > 0 else { continue }
                room -= 1
            }
            kept.append(event)
        }
        events = kept.reversed()
        limit = max(Self.capacity, events.count + Self.capacity / 2)
    }

    mutating func popFirst() -> Event? {
        guard !events.isEmpty else { return nil }
        limit = Self.capacity
        return events.removeFirst()
    }
}

/// An added observer; it stays until ``cancel()``, even if you do not keep this value.
public struct Observation: Sendable {
    let remove: @Sendable () -> Void

    /// Removes the observer. It isn't called again, except that a call on another thread may still be in progress.
    /// Idempotent.
    public func cancel() { remove() }
}

/// Delivers events of one kind to all observers and streams, on the client's thread. Events wait while nobody
/// observes.
final class EventPublisher<Event: QueuedEvent>: Sendable {
    private struct Observer: Sendable {
        let body: @Sendable (Event) -> Void
        let finish: @Sendable () -> Void
    }

    private struct State {
        var waiting = EventQueue<Event>()
        var observers: [UInt64: Observer] = [:]
        /// Observers that the client's thread has yet to add. One that is removed before that is never added.
        var joining: Set<UInt64> = []
        var nextNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Mutex(State())
    private let activeCalls: @Sendable () -> Set<Call.ID>

    /// - Parameter activeCalls: the calls in progress.
    init(activeCalls: @escaping @Sendable () -> Set<Call.ID>) {
        self.activeCalls = activeCalls
    }

    /// Delivers `event`. On the client's thread.
    func publish(_ event: Event) {
        let numbers = state.withLock { state -> [UInt64] in
            guard !state.isFinished else { return [] }
            if state.observers.isEmpty { state.waiting.append(event, active: activeCalls) }
            return state.observers.keys.sorted()
        }
        for number in numbers {
            // Skips observers that were removed meanwhile, for example by the previous one.
            state.withLock { $0.observers[number] }?.body(event)
        }
    }

    /// Ends all streams. Idempotent.
    func finish() {
        let observers = state.withLock { state in
            defer { state = State(isFinished: true) }
            return Array(state.observers.values)
        }
        for observer in observers { observer.finish() }
    }

    /// Calls `body` with the events that wait, and with each one from then on.
    func observe(on queue: ClientQueue, _ body: @escaping @Sendable (Event) -> Void) -> Observation {
        add(Observer(body: body, finish: {}), on: queue)
    }

    /// A stream of the events that wait, and of each one from then on.
    /// - Parameter owner: lives as long as the stream has a reader.
    func stream(holding owner: any Sendable, on queue: ClientQueue) -> AsyncStream<Event> {
        let buffer = StreamBuffer<Event>(activeCalls: activeCalls)
        let observer = Observer(body: { buffer.append($0) }, finish: { buffer.finish() })
        let reader = StreamReader(buffer: buffer, observation: add(observer, on: queue), owner: owner)
        return AsyncStream(unfolding: { await reader.buffer.next() }, onCancel: { reader.cancel() })
    }

    private func add(_ observer: Observer, on queue: ClientQueue) -> Observation {
        let number = state.withLock { state in
            state.nextNumber += 1
            state.joining.insert(state.nextNumber)
            return state.nextNumber
        }
        // On the client's thread, so that waiting events come before new ones.
        let isPosted = queue.post { _ in
            let waiting = self.state.withLock { state -> [Event]? in
                guard state.joining.remove(number) != nil, !state.isFinished else { return nil }
                state.observers[number] = observer
                defer { state.waiting = EventQueue() }
                return state.waiting.events
            }
            guard let waiting else { return observer.finish() }
            for event in waiting { observer.body(event) }
        }
        if !isPosted {
            remove(number)
            observer.finish()
        }
        return Observation { self.remove(number) }
    }

    private func remove(_ number: UInt64) {
        // Release the observer outside the lock: its closures may hold objects whose deinit calls this publisher.
        _ = state.withLock { state -> Observer? in
            state.joining.remove(number)
            return state.observers.removeValue(forKey: number)
        }
    }
}

/// The events of one stream that its reader has not taken.
private final class StreamBuffer<Event: QueuedEvent>: Sendable {
    private struct State {
        var queue = EventQueue<Event>()
        var readers: [CheckedContinuation<Event?, Never>] = []
        var isFinished = false
    }

    private let state = Mutex(State())
    private let activeCalls: @Sendable () -> Set<Call.ID>

    init(activeCalls: @escaping @Sendable () -> Set<Call.ID>) {
        self.activeCalls = activeCalls
    }

    func append(_ event: Event) {
        let reader = state.withLock { state -> CheckedContinuation<Event?, Never>? in
            if !state.readers.isEmpty { return state.readers.removeFirst() }
            if !state.isFinished { state.queue.append(event, active: activeCalls) }
            return nil
        }
        reader?.resume(returning: event)
    }

    /// The next event; nil after the last one.
    func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let (isReady, event) = state.withLock { state -> (Bool, Event?) in
                if let event = state.queue.popFirst() { return (true, event) }
                if !state.isFinished { state.readers.append(continuation) }
                return (state.isFinished, nil)
            }
            if isReady { continuation.resume(returning: event) }
        }
    }

    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.resume(returning: nil) }
    }
}

/// Owned by a stream. Removes the stream's observer when the stream is cancelled or its last reference goes away.
private final class StreamReader<Event: QueuedEvent>: Sendable {
    let buffer: StreamBuffer<Event>
    private let observation: Observation
    private let owner: any Sendable

    init(buffer: StreamBuffer<Event>, observation: Observation, owner: any Sendable) {
        self.buffer = buffer
        self.observation = observation
        self.owner = owner
    }

    deinit { observation.cancel() }

    func cancel() {
        observation.cancel()
        buffer.finish()
    }
}
