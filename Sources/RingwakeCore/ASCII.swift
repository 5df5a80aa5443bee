extension UInt8 {
    /// Whether this is an ASCII letter or digit, `-`, `_` or `.`: the bytes of bundle ids, topics, team ids, key ids
    /// and names of lists. None of them needs an escape in a URL, in JSON or in a file name.
    package var isNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

/// Percent-encodes each byte of `text` in UTF-8, except RFC 3986's unreserved characters (§ 2.1, § 2.3).
package func percentEncoded(_ text: String) -> String {
    text.utf8.map { byte in
        let isUnreserved = byte.isNameByte || byte == UInt8(ascii: "~")
        return isUnreserved ? String(Unicode.Scalar(byte)) : "%" + encodeHex([byte]).uppercased()
    }.joined()
}
