package import RingwakeCore

/// What the next stage made of a verified push.
package nonisolated enum DeliveryOutcome: Equatable, Sendable {
    /// It was taken over; the sender is answered 200.
    case accepted
    /// It was not; the sender is answered with this reason.
    case refused(RejectionReason)
}
