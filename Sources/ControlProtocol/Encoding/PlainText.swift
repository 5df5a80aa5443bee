extension Unicode.Scalar {
    /// Whether a terminal must not be shown this character of a stranger's text: it steers the terminal, ends a line,
    /// turns the direction of writing (UAX #9), or cannot be seen and so makes two names look like one.
    ///
    /// U+200C and U+200D are taken: Persian words and joined emoji are written with them.
    package var isUnsafeToShow: Bool {
        switch value {
        // C0, DEL, C1; line and paragraph separators; directions; zero widths.
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0x200B, 0x2060...0x2064,
            0xFEFF:
            true
        default: false
        }
    }
}

/// JSON that may be shown on a terminal.
package enum PlainJSON {
    /// The same JSON with each character that is ``Swift/Unicode/Scalar/isUnsafeToShow`` written as `\uXXXX`.
    ///
    /// `json` is JSON on any number of lines. Outside of its strings there are no such characters but white space,
    /// which stays; within them no control character below U+0020 stands as itself (RFC 8259 § 7).
    package static func escaped(_ json: [UInt8]) -> [UInt8] {
        // Nearly always: ASCII without DEL, which needs no look at characters.
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var result: [UInt8] = []
        result.reserveCapacity(json.count + 64)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, scalar.isUnsafeToShow {
                // All of them are below U+10000, so that one unit of four digits is enough.
                let digits = String(scalar.value, radix: 16)
                result += "\\u".utf8
                result += String(repeating: "0", count: 4 - digits.utf8.count).utf8
                result += digits.utf8
            } else {
                result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        return result
    }
}
