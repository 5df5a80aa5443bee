/// Text in which an octet may be written as a mark and two hex digits: `%2B` in a URI (RFC 3986 section 2.1), `=2B` in
/// quoted-printable (RFC 2045 section 6.7).
package enum HexEscapes {
    /// Decodes each valid escape, and copies everything else.
    package static func decoded(_ bytes: ArraySlice<UInt8>, mark: UInt8) -> [UInt8] {
        guard bytes.contains(mark) else { return Array(bytes) }
        var decoded: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == mark, index + 2 < bytes.endIndex,
                let high = Character(Unicode.Scalar(bytes[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(bytes[index + 2])).hexDigitValue,
                let byte = UInt8(exactly: high << 4 | low)
            {
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }
}
