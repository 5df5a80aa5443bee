/// A caller or a name as it is kept, whoever gives it: a payload, or the handler's report.
package enum ShownText {
    /// The text holds a zero byte, at which programs in C would take it to end.
    package struct ZeroByte: Error, Equatable, Sendable {}

    /// What is kept of `text`: cut at ``CallUpdate/maximumTextBytes``, where a character ends. Nil for a blank one,
    /// which senders and handlers write for a name that they do not know: flexisip an empty one, sygnal a space, a
    /// script a variable that is not set.
    package static func kept(_ text: String) throws(ZeroByte) -> String? {
        guard !text.utf8.contains(0) else { throw ZeroByte() }
        let cut = text.prefix(bytes: CallUpdate.maximumTextBytes)
        return cut.allSatisfy(\.isWhitespace) ? nil : cut
    }
}

extension String {
    /// As much of the text as has at most `maximum` bytes, cut where a character ends; where the first character
    /// alone is longer, where a code point ends.
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
