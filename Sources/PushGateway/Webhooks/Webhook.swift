package import Cryptography
package import RingwakeCore

/// Where a team's receipts are posted to, and how its server and the requests are proven.
package nonisolated struct Webhook: Equatable, Sendable {
    package let url: WebhookURL
    /// Each request is signed with each of them.
    package let secrets: [WebhookSecret]
    /// A file of CA certificates in PEM to trust instead of the system's.
    package let caFile: String?

    package init(url: WebhookURL, secrets: [WebhookSecret], caFile: String?) {
        self.url = url
        self.secrets = secrets
        self.caFile = caFile
    }

    /// The header lines of a request (Standard Webhooks, "Webhook headers").
    ///
    /// - Parameter timestamp: of this attempt, in seconds since 1970.
    package func headers(id: String, timestamp: Int64, body: [UInt8]) throws(RingwakeError) -> [String] {
        var signatures: [String] = []
        for secret in secrets { signatures.append(try secret.signature(id: id, timestamp: timestamp, body: body)) }
        return [
            "content-type: application/json", "webhook-id: \(id)", "webhook-timestamp: \(timestamp)",
            "webhook-signature: \(signatures.joined(separator: " "))",
        ]
    }
}
