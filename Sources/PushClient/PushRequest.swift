import ProviderAPI
import RingwakeCore

/// One push as a sender writes it, unchecked: tests also send invalid pushes.
package struct PushRequest: Equatable, Sendable {
    /// The device token in hex.
    package var token: String
    /// `apns-topic`.
    package var topic: String?
    /// `apns-push-type`.
    package var pushType: String?
    /// `apns-priority`.
    package var priority: String?
    /// `apns-expiration`, in seconds since 1970.
    package var expiration: Int64?
    /// `apns-collapse-id`.
    package var collapseID: String?
    /// `apns-id`; the push service makes one when there is none.
    package var id: String?
    /// The payload, sent byte for byte.
    package var payload: [UInt8]

    package init(
        token: String, topic: String? = nil, pushType: String? = nil, priority: String? = nil,
        expiration: Int64? = nil, collapseID: String? = nil, id: String? = nil, payload: [UInt8]
    ) {
        self.token = token
        self.topic = topic
        self.pushType = pushType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
        self.payload = payload
    }

    /// The path of the request. What could end the path or stand for another one is percent-encoded (RFC 3986 § 2).
    var path: String { "/3/device/" + percentEncoded(token) }

    /// The header lines of the request.
    ///
    /// - Throws: `invalidRequest` for a value with a control character, which would end the line.
    func headerLines(authorization: String?, asksForOutcome: Bool) throws(RingwakeError) -> [String] {
        let fields: [(name: String, value: String?)] = [
            // Otherwise libcurl sends the content type of a form.
            ("content-type", "application/json"),
            (ProviderField.authorization, authorization),
            (ProviderField.topic, topic),
            (ProviderField.pushType, pushType),
            (ProviderField.priority, priority),
            (ProviderField.expiration, expiration.map(String.init)),
            (ProviderField.collapseID, collapseID),
            (ProviderField.id, id),
            (ProviderField.outcome, asksForOutcome ? "1" : nil),
        ]
        var lines: [String] = []
        for (name, value) in fields {
            guard let value else { continue }
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw RingwakeError(
                    .invalidRequest, "\(name) holds a control character, which no HTTP header may; remove it")
            }
            // libcurl's way to write a header without a value; "name:" would leave it out.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }
}
