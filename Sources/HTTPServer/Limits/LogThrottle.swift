package import RunLoop

/// Decides which of many similar events are logged: the first of each kind, and then one in a period with the number of
/// those between. Strangers can cause as many events as they like.
package nonisolated struct LogThrottle<Kind: Hashable & Sendable>: Sendable {
    private struct Last: Sendable {
        let at: BootClock.Instant
        /// Events since then.
        var count: UInt64 = 0
    }

    private let period: Duration
    private let maximumKinds: Int
    private var last: [Kind: Last] = [:]

    /// - Parameters:
    ///   - period: the least time between two logged events of a kind.
    ///   - maximumKinds: of further kinds nothing is logged until one of these had no event for a period.
    package init(period: Duration = .seconds(60), maximumKinds: Int = 64) {
        self.period = period
        self.maximumKinds = maximumKinds
    }

    /// Records an event.
    ///
    /// - Returns: how many of this kind were not logged since the last one, if this one is to be logged; else nil.
    package mutating func note(_ kind: Kind, at now: BootClock.Instant) -> UInt64? {
        if let before = last[kind] {
            guard now < before.at.advanced(by: period) else {
                last[kind] = Last(at: now)
                return before.count
            }
            last[kind]?.count &+= 1
            return nil
        }
        if last.count >= maximumKinds {
            last = last.filter { now < $0.value.at.advanced(by: period) }
            guard last.count < maximumKinds else { return nil }
        }
        last[kind] = Last(at: now)
        return 0
    }

    /// The kinds with events that were not logged, and their number.
    package var unlogged: [(kind: Kind, count: UInt64)] {
        last.filter { $0.value.count > 0 }.map { ($0.key, $0.value.count) }
    }
}
