/// Makes foreign text safe for a log or a terminal.
enum LogText {
    /// `bytes` as text. Invalid UTF-8 becomes U+FFFD. A character that could move the cursor, change the writing
    /// direction or start a line is written as an escape such as `\u{1b}`.
    static func harmless(_ bytes: some Collection<UInt8>) -> String {
        // Nearly every line is printable ASCII and stays as it is.
        if bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x09 }) { return String(decoding: bytes, as: UTF8.self) }
        return harmless(String(decoding: bytes, as: UTF8.self))
    }

    static func harmless(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isHarmless(scalar) {
                result.append(scalar)
            } else {
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            }
        }
        return String(result)
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\t" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return false
        default: return true
        }
    }
}
