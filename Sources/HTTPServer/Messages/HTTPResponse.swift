/// One complete answer.
///
/// HTTP/2 adds no fields. HTTP/1.1 adds `content-length` and `connection`.
package nonisolated struct HTTPResponse: Hashable, Sendable {
    /// The status, 200 to 599.
    package var status: Int
    /// The fields in order, with names in lower case.
    package var fields: [HTTPField]
    /// The body. If it is empty, HTTP/2 sends one HEADERS frame with END_STREAM and no DATA.
    package var body: [UInt8]

    package init(status: Int, fields: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
