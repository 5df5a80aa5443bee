extension Unicode.Scalar {
    /// Whether a terminal must not show this character of untrusted text: it controls the terminal, ends a line,
    /// changes the writing direction (UAX #9), or is invisible, so that two names look the same.
    ///
    /// U+200C and U+200D are allowed: Persian and joined emoji need them.
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

/// JSON that is safe to show on a terminal.
package enum PlainJSON {
    /// Replaces each character that is ``Swift/Unicode/Scalar/isUnsafeToShow`` by `\uXXXX`.
    ///
    /// `json` may have several lines. Outside strings, JSON has no such characters except white space, which stays. In
    /// strings, characters below U+0020 are always escaped (RFC 8259 § 7).
    package static func escaped(_ json: [UInt8]) -> [UInt8] {
        // Nearly always it is ASCII without DEL, and characters needn't be checked.
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var result: [UInt8] = []
        result.reserveCapacity(json.count + 64)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, scalar.isUnsafeToShow {
                // All of them are below U+10000, so one escape with four digits is enough.
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
