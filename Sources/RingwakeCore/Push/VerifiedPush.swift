/// A push after all checks of sender, token, fields and payload. The coordinator accepts only these.
package struct VerifiedPush: Hashable, Sendable {
    /// The sender's id for the push, exactly as it was sent; generated if there was none.
    package let pushID: String
    /// The app that the token belongs to.
    package let app: AppID
    /// The sender, and the protocol.
    package let provenance: Provenance
    /// How urgent it is.
    package let priority: PushPriority
    /// When it expires; nil if the sender set no date.
    package let expiration: Expiration?
    /// The push replaces an earlier one with the same id whose call waits; at most 64 bytes.
    package let collapseID: String?
    /// The payload, byte for byte: one JSON object of at most 5120 bytes.
    package let payload: [UInt8]
    /// When its headers arrived.
    package let receivedAt: BootInstant
    /// When the last check was passed.
    package let verifiedAt: BootInstant
    /// When its headers arrived, in milliseconds since 1970 by the wall clock at that time; nil if the clock was not
    /// read. For display only: no decision depends on it.
    package var receivedWallClock: Int64?
    /// Where it goes.
    package var destination = PushDestination.local
    /// The kind of push, in its protocol's word: `apns-push-type`.
    package var type = "voip"

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
    /// The expiration of a push, converted to the boot clock once, at arrival.
    package enum Expiration: Hashable, Sendable {
        /// One attempt now: it is not delivered again after a restart.
        case oneAttempt
        /// The call must not start to ring from this instant on. If the instant is already past, the call is recorded
        /// as expired and never rings.
        case at(BootInstant)
    }
}
