package import ProviderAPI
package import RingwakeCore
package import RunLoop

/// What the gateway does with valid pushes instead of only accepting them, so that people can test their senders.
package nonisolated struct PushFault: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Refuses the push with this reason.
        case refusal(RejectionReason)
        /// Delivers the push, and sends the answer this much later.
        case delay(Duration)
        /// Delivers the push and answers it, and ends the connection with GOAWAY.
        case goAway
        /// Resets the stream (RFC 9113 section 6.4). The push isn't delivered.
        case reset
        /// Never answers. The push isn't delivered.
        case silence
    }

    package let kind: Kind
    /// Number of pushes that pass before the first one that is affected.
    package private(set) var after: Int
    /// Number of pushes that are affected from then on; nil: all.
    package private(set) var count: Int?
    /// When it ends; nil: not by time.
    package let end: BootClock.Instant?

    package init(_ kind: Kind, after: Int = 0, count: Int? = nil, until end: BootClock.Instant? = nil) {
        self.kind = kind
        self.after = max(0, after)
        self.count = count
        self.end = end
    }

    fileprivate func isOver(at now: BootClock.Instant) -> Bool {
        count.map { $0 <= 0 } ?? false || end.map { $0 <= now } ?? false
    }

    /// Counts one push.
    ///
    /// - Returns: whether it is affected.
    fileprivate mutating func countPush() -> Bool {
        guard after == 0 else {
            after -= 1
            return false
        }
        if let left = count { count = left - 1 }
        return true
    }
}

/// The faults that are set, at most one for each device token. They aren't stored: a restart of the daemon ends them.
package nonisolated struct PushFaults: Sendable {
    /// The device token of an app in an environment.
    package struct Target: Hashable, Sendable {
        package let app: AppID
        package let environment: PushEnvironment

        package init(_ app: AppID, _ environment: PushEnvironment) {
            self.app = app
            self.environment = environment
        }
    }

    private var faults: [Target: PushFault] = [:]

    /// Sets the fault of a device token; nil removes it.
    package mutating func set(_ fault: PushFault?, for target: Target) { faults[target] = fault }

    /// The fault of a device token; nil if there is none, or if it is over.
    package func fault(for target: Target, at now: BootClock.Instant) -> PushFault? {
        faults[target].flatMap { $0.isOver(at: now) ? nil : $0 }
    }

    /// What happens to a valid push, which is counted; nil if it is accepted.
    mutating func meet(_ target: Target, at now: BootClock.Instant) -> PushFault.Kind? {
        guard !faults.isEmpty, var fault = faults.removeValue(forKey: target), !fault.isOver(at: now) else {
            return nil
        }
        let isAffected = fault.countPush()
        if !fault.isOver(at: now) { faults[target] = fault }
        return isAffected ? fault.kind : nil
    }
}
