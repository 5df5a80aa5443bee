/// One complete answer.
///
/// The server adds no field to an HTTP/2 answer. HTTP/1.1 adds its framing: `content-length` and `connection`.
package nonisolated struct HTTPResponse: Hashable, Sendable {
    /// The status, 200 to 599.
    package var status: Int
    /// The fields in their order; names in lower case.
    package var fields: [HTTPField]
    /// The body. When it is empty, HTTP/2 sends one HEADERS frame with END_STREAM and no DATA.
    package var body: [UInt8]

    package init(status: Int, fields: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
