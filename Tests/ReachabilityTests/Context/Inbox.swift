import RunLoop
import Synchronization

/// What callbacks were told, for the thread that tests. A wait that takes this long has failed.
final class Inbox<Value: Sendable>: Sendable {
    private static var patience: Int32 { 300_000 }

    private let values = Mutex<[Value]>([])
    private let bell: EventDescriptor

    init() throws {
        bell = try EventDescriptor(nonblocking: true)
    }

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        bell.ring()
    }

    /// Takes the oldest; waits for it.
    /// - Returns: Nil when none came.
    func next() -> Value? {
        while true {
            bell.hear()
            if let value = take() { return value }
            guard bell.wait(milliseconds: Self.patience) else { return take() }
        }
    }

    /// Takes values until one fits; waits for it.
    func next(where fits: (Value) -> Bool) -> Value? {
        while let value = next() {
            if fits(value) { return value }
        }
        return nil
    }

    /// The oldest, if one is there.
    func take() -> Value? {
        values.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
