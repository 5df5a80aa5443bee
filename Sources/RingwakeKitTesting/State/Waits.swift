/// Conditions that tests wait for.
struct Waits: Sendable {
    private struct Wait: Sendable {
        /// Checks the condition. Returns what to deliver if it is met.
        let look: @Sendable (inout DaemonState) -> DaemonState.Delivery?
        let cancelled: DaemonState.Delivery
    }

    private var waits: [UInt64: Wait] = [:]
    /// Waits that were cancelled before they began.
    private var cancelled: Set<UInt64> = []
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last += 1
        return last
    }

    /// Calls `resume` with the first value that `look` finds, or with nil if the wait is cancelled.
    mutating func add<Value: Sendable>(
        _ number: UInt64, _ look: @escaping @Sendable (inout DaemonState) -> Value?,
        _ resume: @escaping @Sendable (Value?) -> Void
    ) -> [DaemonState.Delivery] {
        guard cancelled.remove(number) == nil else { return [{ resume(nil) }] }
        let found: @Sendable (inout DaemonState) -> DaemonState.Delivery? = { state in
            guard let value = look(&state) else { return nil }
            return { resume(value) }
        }
        waits[number] = Wait(look: found, cancelled: { resume(nil) })
        return []
    }

    mutating func cancel(_ number: UInt64) -> [DaemonState.Delivery] {
        if let wait = waits.removeValue(forKey: number) { return [wait.cancelled] }
        cancelled.insert(number)
        return []
    }

    /// All waits, the oldest first.
    var all: [(number: UInt64, look: @Sendable (inout DaemonState) -> DaemonState.Delivery?)] {
        waits.sorted { $0.key < $1.key }.map { ($0.key, $0.value.look) }
    }

    mutating func end(_ number: UInt64) { waits[number] = nil }
}
