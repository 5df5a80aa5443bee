/// A telephone number in a written form, parsed into its digits.
struct WrittenNumber {
    /// Only the digits.
    var digits = ""
    /// Whether a plus precedes them.
    var isInternational = false

    /// Nil if `bytes` are not a number. A number has digits, an optional plus before them, and separators (RFC 3966
    /// section 3, "visual-separator", and spaces, slashes, dashes and direction marks from address books).
    init?(_ bytes: ArraySlice<UInt8>) {
        var index = bytes.startIndex
        var hasDigit = false
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte.isDigit {
                if !WrittenNumber.isTrunkInParentheses(bytes, at: index, isInternational) {
                    digits.unicodeScalars.append(Unicode.Scalar(byte))
                    hasDigit = true
                }
                index += 1
            } else if byte == UInt8(ascii: "+") {
                guard !hasDigit, !isInternational else { return nil }
                isInternational = true
                index += 1
            } else {
                let length = WrittenNumber.separatorLength(bytes[index...])
                guard length > 0 else { return nil }
                index += length
            }
        }
        guard hasDigit else { return nil }
    }

    // "+49 (0)89 123": this zero is only dialled within the country.
    private static func isTrunkInParentheses(
        _ bytes: ArraySlice<UInt8>, at index: Int, _ isInternational: Bool
    ) -> Bool {
        isInternational && bytes[index] == UInt8(ascii: "0")
            && index > bytes.startIndex && bytes[index - 1] == UInt8(ascii: "(")
            && index + 1 < bytes.endIndex && bytes[index + 1] == UInt8(ascii: ")")
    }

    /// The size of the separator at the start of `bytes`; 0 if there is none.
    private static func separatorLength(_ bytes: ArraySlice<UInt8>) -> Int {
        let first = bytes[bytes.startIndex]
        let second = bytes.count > 1 ? bytes[bytes.startIndex + 1] : 0
        let third = bytes.count > 2 ? bytes[bytes.startIndex + 2] : 0
        switch (first, second, third) {
        case (UInt8(ascii: " "), _, _), (UInt8(ascii: "-"), _, _), (UInt8(ascii: "."), _, _),
            (UInt8(ascii: "("), _, _), (UInt8(ascii: ")"), _, _), (UInt8(ascii: "/"), _, _):
            return 1
        case (0xC2, 0xA0, _), (0xC2, 0xAD, _):  // no-break space, soft hyphen
            return 2
        case (0xE2, 0x80, 0x80...0x95), (0xE2, 0x80, 0xA8...0xAF), (0xE2, 0x81, 0xA0...0xAF), (0xEF, 0xBB, 0xBF):
            return 3  // spaces, dashes, direction marks, a byte order mark
        default:
            return 0
        }
    }
}
