/// One header field.
package struct HTTP1Field: Hashable, Sendable {
    /// The name; in lower case when it comes from a parser.
    package var name: String
    /// The value, without surrounding white space.
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension [HTTP1Field] {
    /// The value of the first field with this name.
    ///
    /// - Parameter name: the name in lower case.
    package func first(named name: String) -> String? {
        first { $0.name == name }?.value
    }

    /// Whether a comma-separated list field contains a token, ignoring case (`connection: Keep-Alive, close`).
    func listContains(_ token: String, in name: String) -> Bool {
        for field in self where field.name == name {
            for element in field.value.utf8.split(separator: UInt8(ascii: ",")) {
                let trimmed = element.drop(while: ByteClass.isBlank)
                let length = trimmed.reversed().drop(while: ByteClass.isBlank).count
                if trimmed.prefix(length).map(ByteClass.lowercased).elementsEqual(token.utf8) {
                    return true
                }
            }
        }
        return false
    }
}
