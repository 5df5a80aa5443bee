import HTTP1
package import RunLoop

/// One complete request of HTTP/2 or HTTP/1.1.
package nonisolated struct HTTPRequest: Sendable {
    /// The method, as sent: `POST`, `GET`.
    package var method: String
    /// The request target, as sent: `/3/device/00ab?x=1`.
    package var path: String
    /// The fields in order, with names in lower case, without HTTP/2's pseudo-fields.
    package var fields: [HTTPField]
    /// The body, at most ``ConnectionLimits/maximumBodyBytes`` long.
    package var body: [UInt8]
    /// Whether the body was longer than the limit; the rest was discarded.
    package var isBodyTruncated: Bool
    /// Whether the head exceeded the limits; the fields beyond are missing. HTTP/2 only.
    package var isHeadTooLarge = false
    /// When the request's head started to arrive.
    package var receivedAt: BootClock.Instant

    package init(
        method: String, path: String, fields: [HTTPField] = [], body: [UInt8] = [], isBodyTruncated: Bool = false,
        receivedAt: BootClock.Instant
    ) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
        self.isBodyTruncated = isBodyTruncated
        self.receivedAt = receivedAt
    }

    init(_ request: HTTP1Request, receivedAt: BootClock.Instant) {
        self.init(
            method: request.method, path: request.target,
            fields: request.fields.map { HTTPField(name: $0.name, value: $0.value) }, body: request.body,
            receivedAt: receivedAt)
    }

    /// The values of all fields with this name, in order.
    ///
    /// - Parameter name: the name in lower case.
    package func values(of name: String) -> [String] {
        var found: [String] = []
        for field in fields where field.name == name {
            found.append(field.value)
        }
        return found
    }
}
