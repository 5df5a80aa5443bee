/// What became of a push that passed its door's checks.
package enum DeliveryOutcome: Hashable, Sendable {
    /// It is durable.
    case accepted
    /// The device did not take it; its sender may send it again.
    case refused(PushRefusal)
}

/// Why the device did not take a push. Each door says it in its protocol's words.
package enum PushRefusal: Hashable, Sendable, CaseIterable {
    /// As many calls are active as may be, of its app or in all.
    case tooManyCalls
    /// Its app is gone, or the journal can't write it now.
    case unavailable
}
