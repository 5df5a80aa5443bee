package import ProviderAPI

/// The push service's answer to one push.
package struct PushAnswer: Equatable, Sendable {
    /// The HTTP status: 200 if the push was accepted.
    package var status: Int
    /// `apns-id`, by which the push service knows the push.
    package var apnsID: String?
    /// `apns-unique-id`, which the development environment alone sends.
    package var uniqueID: String?
    /// What became of an accepted push; nil from a push service that doesn't say.
    package var outcome: String?
    /// The reason of a refusal, in the push service's own word.
    package var reason: String?
    /// With 410: when the token became invalid, in milliseconds since 1970.
    package var timestamp: Int64?
    /// Always `2`: another version is an error.
    package var httpVersion: String
    /// How long each stage took.
    package var timings: PushTimings

    /// Whether the push was accepted.
    package var isAccepted: Bool { status == 200 }

    /// The reason, if APNs documents it.
    package var knownReason: RejectionReason? { reason.flatMap(RejectionReason.init(rawValue:)) }
}

/// When each stage of a push was done, in microseconds since its start; each includes those before it.
package struct PushTimings: Encodable, Equatable, Sendable {
    /// The name was resolved. This and the next two are 0 on a reused connection.
    package var dnsUs: Int64
    /// TCP was connected.
    package var connectUs: Int64
    /// TLS was agreed.
    package var tlsUs: Int64
    /// The request was about to leave.
    package var sentUs: Int64
    /// The first byte of the answer was there.
    package var answerUs: Int64
    /// The whole answer was there.
    package var totalUs: Int64
    /// Whether the push went over a connection that was open already.
    package var reusedConnection: Bool
}
