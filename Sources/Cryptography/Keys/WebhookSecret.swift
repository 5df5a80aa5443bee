import FoundationEssentials
package import RingwakeCore

/// The key that signs a webhook's requests, as the Standard Webhooks specification has it: `whsec_` and base64.
///
/// A file of secrets has one or more of them, one a line: while a receiver changes to a new one, each request is signed
/// with both.
package struct WebhookSecret: Equatable, Sendable {
    private static let prefix = "whsec_"
    /// Bytes of a new secret.
    private static let newBytes = 32
    /// Bytes that a secret may have (Standard Webhooks, "Signature scheme").
    private static let lengths = 24...64
    /// Secrets in a file at most.
    private static let maximumInFile = 4

    private let key: [UInt8]

    /// A new secret.
    package static func generate() throws(RingwakeError) -> WebhookSecret {
        WebhookSecret(key: try SecureRandom.bytes(newBytes))
    }

    private init(key: [UInt8]) {
        self.key = key
    }

    /// Reads `whsec_…`; nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix), let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.lengths.contains(key.count)
        else { return nil }
        self.key = Array(key)
    }

    /// Reads a file of secrets.
    ///
    /// - Throws: `badConfiguration` if a line is none, or there are too many.
    package static func all(inFile bytes: [UInt8]) throws(RingwakeError) -> [WebhookSecret] {
        var secrets: [WebhookSecret] = []
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            guard let secret = WebhookSecret(line), secrets.count < maximumInFile else {
                throw RingwakeError(
                    .badConfiguration,
                    "a secret is a line 'whsec_' with 24 to 64 bytes in base64, \(maximumInFile) lines at most; make "
                        + "one with 'ringwake team webhook set'")
            }
            secrets.append(secret)
        }
        guard !secrets.isEmpty else { throw RingwakeError(.badConfiguration, "it has no secret") }
        return secrets
    }

    package var text: String { Self.prefix + Data(key).base64EncodedString() }

    /// The signature of a request: `v1,` and base64.
    ///
    /// - Parameters:
    ///   - id: `webhook-id`.
    ///   - timestamp: `webhook-timestamp`, in seconds since 1970.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) throws(RingwakeError) -> String {
        "v1," + Data(try HMACSHA256.code(of: Array("\(id).\(timestamp).".utf8) + body, key: key)).base64EncodedString()
    }
}
