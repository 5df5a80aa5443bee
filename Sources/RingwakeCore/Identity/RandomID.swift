/// A random identifier of 128 bits: a UUID of version 4, in lower case.
///
/// See RFC 9562 § 5.4.
package struct RandomID: Hashable, Sendable, CodedAsText {
    /// 8, 4, 4, 4 and 12 hex digits with hyphens between them.
    package let text: String

    package static let byteCount = 16
    /// The lengths of the parts in the text.
    private static let parts = [8, 4, 4, 4, 12]

    /// - Parameter bytes: ``byteCount`` random bytes; six of their bits become the version and the variant.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var marked = bytes
        marked[6] = marked[6] & 0x0F | 0x40
        marked[8] = marked[8] & 0x3F | 0x80
        var rest = encodeHex(marked)[...]
        text = Self.parts.map { length in
            defer { rest = rest.dropFirst(length) }
            return String(rest.prefix(length))
        }.joined(separator: "-")
    }

    /// - Parameter text: as ``text``; capitals mean the same.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == Self.parts, let bytes = decodeHex(Array(parts.joined().utf8)),
            let id = RandomID(bytes: bytes), id.text == text.lowercased()
        else { return nil }
        self = id
    }

    package static let textName = "a UUID of version 4"
    package var description: String { text }
}
