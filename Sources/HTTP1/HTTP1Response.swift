/// The head of an answer.
package struct HTTP1ResponseHead: Hashable, Sendable {
    /// The status, 200 to 999; or 101.
    package var status: Int
    /// The fields in order, with names in lower case.
    package var fields: [HTTP1Field]

    package init(status: Int, fields: [HTTP1Field]) {
        self.status = status
        self.fields = fields
    }
}

/// The events of an answer, in this order: one head, any number of body pieces, one end.
package enum HTTP1ResponseEvent: Hashable, Sendable {
    case head(HTTP1ResponseHead)
    /// The next bytes of the body, at least one, without chunk framing.
    case body([UInt8])
    case end
}
