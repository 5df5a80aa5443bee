internal import Synchronization

/// The observers of one monitor, and its newest value. Any thread may read and add; only the loop's thread notifies.
package final class Observers<Value: Sendable>: Sendable {
    package struct Observer: Sendable {
        /// Called with each value, on the loop's thread.
        package let body: @Sendable (Value) -> Void
        /// Called once when no value follows any more, on the thread that ended it.
        package let finish: @Sendable () -> Void
        /// It hasn't been notified yet.
        var isNew = true

        package init(body: @escaping @Sendable (Value) -> Void, finish: @escaping @Sendable () -> Void = {}) {
            self.body = body
            self.finish = finish
        }
    }

    private struct State {
        var value: Value?
        var observers: [UInt64: Observer] = [:]
        var nextNumber: UInt64 = 0
        var isFinished = false
    }

    private let state: Mutex<State>

    package init(value: Value? = nil) {
        state = Mutex(State(value: value))
    }

    /// The newest value; nil before the first.
    package var value: Value? { state.withLock { $0.value } }

    /// - Returns: the number for `remove`; nil if no value follows any more.
    package func add(_ observer: Observer) -> UInt64? {
        state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextNumber += 1
            state.observers[state.nextNumber] = observer
            return state.nextNumber
        }
    }

    package func remove(_ number: UInt64) {
        // The closures are released after the lock, because a deinit may call this object.
        _ = state.withLock { $0.observers.removeValue(forKey: number) }
    }

    /// Notifies all observers. Call it on the loop's thread.
    package func notify(_ value: Value) {
        state.withLock { $0.value = value }
        notify(onlyNew: false)
    }

    /// Notifies the observers that were added since the last value, if there is a value. Call it on the loop's thread.
    package func notifyNew() {
        notify(onlyNew: true)
    }

    private func notify(onlyNew: Bool) {
        let numbers = state.withLock { state in
            state.value == nil ? [] : state.observers.filter { !onlyNew || $0.value.isNew }.keys.sorted()
        }
        for number in numbers {
            // Skip an observer that was removed meanwhile, perhaps by the one before it.
            let call = state.withLock { state -> (body: @Sendable (Value) -> Void, value: Value)? in
                guard let value = state.value, let observer = state.observers[number] else { return nil }
                state.observers[number]?.isNew = false
                return (observer.body, value)
            }
            if let call { call.body(call.value) }
        }
    }

    /// Ends all observers: no value follows any more. Idempotent.
    package func finish() {
        let observers = state.withLock { state in
            state.isFinished = true
            defer { state.observers = [:] }
            return state.observers
        }
        for observer in observers.values { observer.finish() }
    }

    /// A stream of the values, from the newest on. It buffers only the newest unread value.
    /// - Parameter holding: released when the stream ends or has no reader left.
    /// - Parameter begun: called when the stream has been added to the observers.
    package func stream(holding owner: any Sendable, begun: () -> Void) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let number = add(Observer(body: { continuation.yield($0) }, finish: { continuation.finish() }))
        guard let number else {
            continuation.finish()
            return stream
        }
        // Called when the stream ends or its last reader is gone. Then this closure is released, and the owner with it.
        continuation.onTermination = { _ in
            withExtendedLifetime(owner) { self.remove(number) }
        }
        begun()
        return stream
    }
}
