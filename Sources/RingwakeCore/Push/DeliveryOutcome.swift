/// The result of a push that passed all checks.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The push is durable. The outcome is that of its call: see ``Call/outcome(of:)``.
    case accepted(PushOutcome)
    /// The push is durable on its linked device (`forwarded`), or at this gateway until its device takes it (`queued`).
    case relayed(PushRelay)
    /// The device rejected the push; its sender may send it again.
    case refused(PushRefusal)
}

/// Where a push for a linked device is durable.
package enum PushRelay: String, Hashable, Sendable, Codable {
    case forwarded
    case queued
}

/// Why the device rejected a push. Each ``Provenance/Door`` translates it to its protocol.
package enum PushRefusal: Hashable, Sendable, CaseIterable {
    /// The maximum number of active calls is reached, of its app or of all.
    case tooManyCalls
    /// The pushes to its device token start calls too fast.
    case tooManyPushes
    /// The linked device is away, and as much waits for it as may.
    case mailboxFull
    /// Its app is gone, or the journal can't store the push now.
    case unavailable
    /// The linked device has no registration with its device token any more.
    case unregistered
}

extension PushRefusal {
    /// Why the coordinator refused a push.
    package init(_ refusal: EventRefusal) {
        self = if case .tooManyPushes = refusal { .tooManyPushes } else { .tooManyCalls }
    }
}
