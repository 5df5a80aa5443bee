/// Reads the elements of one level of DER (X.690), as far as certificates' extensions need it.
///
/// Strict and bounded by the bytes given: tags of one byte, definite and minimal lengths, nothing left over.
/// Anything else ends the reading with `nil`; it never traps and never recurses.
struct DERReader {
    /// The tags that occur in the extensions read here.
    enum Tag {
        static let octetString: UInt8 = 0x04
        static let utf8String: UInt8 = 0x0C
        static let sequence: UInt8 = 0x30
        /// `[2]` of a GeneralName: dNSName (RFC 5280 section 4.2.1.6).
        static let dnsName: UInt8 = 0x82
        /// `[7]` of a GeneralName: iPAddress.
        static let ipAddress: UInt8 = 0x87
    }

    /// One element: its tag and its content.
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    private static let maximumLengthBytes: UInt8 = 4
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Whether every byte was read.
    var isAtEnd: Bool { rest.isEmpty }

    /// The next element, or `nil` at the end and for malformed bytes.
    mutating func next() -> Element? {
        var cursor = rest
        guard let tag = cursor.popFirst(), tag & 0x1F != 0x1F, let length = Self.length(&cursor),
            length <= cursor.count
        else { return nil }
        let content = cursor.prefix(length)
        rest = cursor.dropFirst(length)
        return Element(tag: tag, content: content)
    }

    /// The content of the next element if it has this tag.
    mutating func next(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard let element = next(), element.tag == tag else { return nil }
        return element.content
    }

    private static func length(_ cursor: inout ArraySlice<UInt8>) -> Int? {
        guard let first = cursor.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = first & 0x7F
        // 0x80 is the indefinite form, which DER forbids; more than four bytes cannot be in memory here.
        guard count > 0, count <= maximumLengthBytes, cursor.count >= Int(count), cursor.first != 0 else { return nil }
        var length: UInt32 = 0
        for _ in 0..<count {
            guard let byte = cursor.popFirst() else { return nil }
            length = length << 8 | UInt32(byte)
        }
        guard length >= 0x80 else { return nil }
        return Int(exactly: length)
    }
}
