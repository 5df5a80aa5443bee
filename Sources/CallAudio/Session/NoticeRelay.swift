internal import Synchronization

/// Who is told the notices of one session, in their order. Any thread may add; only the loop's thread tells.
final class NoticeRelay: Sendable {
    /// Notices that a stream holds while nobody reads it; of more the oldest go.
    static let streamCapacity = 256

    private struct Observer: Sendable {
        let body: @Sendable (AudioSessionNotice) -> Void
        let finish: @Sendable () -> Void
    }

    private struct State {
        var observers: [UInt64: Observer] = [:]
        var nextNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// - Returns: nil when nothing follows any more.
    private func add(_ observer: Observer) -> UInt64? {
        state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextNumber += 1
            state.observers[state.nextNumber] = observer
            return state.nextNumber
        }
    }

    func add(_ body: @escaping @Sendable (AudioSessionNotice) -> Void) {
        _ = add(Observer(body: body, finish: {}))
    }

    /// A stream of what is told from now on. It ends with the session, which it does not keep.
    func stream() -> AsyncStream<AudioSessionNotice> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AudioSessionNotice.self, bufferingPolicy: .bufferingNewest(Self.streamCapacity))
        let number = add(Observer(body: { continuation.yield($0) }, finish: { continuation.finish() }))
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // What the closures hold goes when the lock is free again.
            _ = self?.state.withLock { $0.observers.removeValue(forKey: number) }
        }
        return stream
    }

    /// Tells all of them. On the loop's thread.
    func tell(_ notice: AudioSessionNotice) {
        let observers = state.withLock { $0.observers.sorted { $0.key < $1.key }.map(\.value) }
        for observer in observers { observer.body(notice) }
    }

    /// Nothing follows any more. Idempotent.
    func finish() {
        let observers = state.withLock { state in
            state.isFinished = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in observers { observer.finish() }
    }
}
