/// One header field of a request or an answer.
package nonisolated struct HTTPField: Hashable, Sendable {
    /// The field's name, in lower case (RFC 9113 section 8.2.1).
    package var name: String
    /// The field's value, without surrounding white space.
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
