/// The stored form of a caller or a name from a payload or a handler's report.
package enum ShownText {
    /// The text contains a zero byte, which ends a string in C.
    package struct ZeroByte: Error, Equatable, Sendable {}

    /// The stored form of `text`: cut at the end of a character, to ``CallUpdate/maximumTextBytes``. Nil for a blank
    /// text, which stands for an unknown name: flexisip sends an empty one, sygnal a space, a script a variable that is
    /// not set.
    package static func kept(_ text: String) throws(ZeroByte) -> String? {
        guard !text.utf8.contains(0) else { throw ZeroByte() }
        let cut = text.prefix(bytes: CallUpdate.maximumTextBytes)
        return cut.allSatisfy(\.isWhitespace) ? nil : cut
    }
}

extension String {
    /// The longest prefix of at most `maximum` bytes that ends at a character. If the first character alone is longer,
    /// the prefix ends at a code point.
    func prefix(bytes maximum: Int) -> String {
        guard utf8.count > maximum else { return self }
        var end = startIndex
        var size = 0
        for index in indices {
            size += self[index].utf8.count
            guard size <= maximum else { break }
            end = self.index(after: index)
        }
        if end > startIndex {
            return String(self[..<end])
        }
        var scalars = String.UnicodeScalarView()
        size = 0
        for scalar in unicodeScalars {
            size += UTF8.width(scalar)
            guard size <= maximum else { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}
