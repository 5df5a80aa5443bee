/// A push of which its door has checked everything: sender, token, fields and payload. The only way into the coordinator.
package struct VerifiedPush: Hashable, Sendable {
    /// The sender's name for the push, exactly as it wrote it; made here when it wrote none.
    package let pushID: String
    /// The app that the token belongs to.
    package let app: AppID
    /// Who sent it, by which door.
    package let provenance: Provenance
    /// How urgent it is.
    package let priority: PushPriority
    /// When it is worthless; nil when the sender set no date.
    package let expiration: Expiration?
    /// Which undelivered push it replaces; at most 64 bytes.
    package let collapseID: String?
    /// The payload, byte for byte: one JSON object of at most 5120 bytes.
    package let payload: [UInt8]
    /// When its headers arrived.
    package let receivedAt: BootInstant
    /// When the last check was passed.
    package let verifiedAt: BootInstant
    /// When its headers arrived by the wall clock, in milliseconds since 1970, as it stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package var receivedWallClock: Int64?

    package init(
        pushID: String, app: AppID, provenance: Provenance, priority: PushPriority, expiration: Expiration?,
        collapseID: String?, payload: [UInt8], receivedAt: BootInstant, verifiedAt: BootInstant
    ) {
        self.pushID = pushID
        self.app = app
        self.provenance = provenance
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
        self.receivedAt = receivedAt
        self.verifiedAt = verifiedAt
    }
}

extension VerifiedPush {
    /// Until when a push is worth delivering, converted to the boot clock once, at arrival.
    package enum Expiration: Hashable, Sendable {
        /// One attempt now: it is not delivered again after a restart.
        case oneAttempt
        /// The call must not start to ring from this instant on. One that lies in the past already is recorded
        /// as expired and never rings.
        case at(BootInstant)
    }
}
