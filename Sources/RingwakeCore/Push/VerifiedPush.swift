/// A push whose sender, token, topic, headers and payload have all been checked: the only way into the coordinator.
package struct VerifiedPush: Hashable, Sendable {
    /// The sender's name for the push, exactly as it wrote it; made here when it wrote none.
    package let apnsID: String
    /// The app that the token belongs to.
    package let app: AppID
    /// The topic, equal to the token's.
    package let topic: Topic
    /// Which environment it came in by.
    package let environment: PushEnvironment
    /// Who sent it.
    package let sender: Sender
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
        apnsID: String, app: AppID, topic: Topic, environment: PushEnvironment, sender: Sender,
        priority: PushPriority, expiration: Expiration?, collapseID: String?, payload: [UInt8],
        receivedAt: BootInstant, verifiedAt: BootInstant
    ) {
        self.apnsID = apnsID
        self.app = app
        self.topic = topic
        self.environment = environment
        self.sender = sender
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.payload = payload
        self.receivedAt = receivedAt
        self.verifiedAt = verifiedAt
    }
}

extension VerifiedPush {
    /// Who vouched for a push.
    package enum Sender: Hashable, Sendable {
        /// A provider certificate of `team`, by the SHA-256 fingerprint of the certificate.
        case certificate(team: String, fingerprint: String)
        /// A provider token of `team`, signed with the key `keyID`.
        case token(team: String, keyID: String)

        /// The team, which stays the same when a certificate or a key is renewed.
        package var team: String {
            switch self {
            case .certificate(let team, _), .token(let team, _): team
            }
        }
    }

    /// The `apns-expiration` of a push, converted to the boot clock once, at arrival.
    package enum Expiration: Hashable, Sendable {
        /// `apns-expiration: 0`: one attempt now, never stored.
        case oneAttempt
        /// The call must not start to ring from this instant on. One that lies in the past already is recorded
        /// as expired and never rings.
        case at(BootInstant)
    }
}
