/// Base64 with the URL-safe alphabet and no padding (RFC 4648 section 5, as RFC 7515 section 2 uses it).
package enum Base64URL {
    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// The text of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var pending: UInt32 = 0
        var pendingBits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            pendingBits += 8
            while pendingBits >= 6 {
                pendingBits -= 6
                text.append(alphabet.utf8Start[Int(pending >> UInt32(pendingBits) & 0x3F)])
            }
            pending &= (1 << UInt32(pendingBits)) - 1
        }
        if pendingBits > 0 {
            text.append(alphabet.utf8Start[Int(pending << UInt32(6 - pendingBits) & 0x3F)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of `text`, read strictly: `nil` for a character outside the alphabet (padding and white space
    /// included), for an impossible length, and for unused bits that are not zero, so that each value has
    /// exactly one text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var pending: UInt32 = 0
        var pendingBits = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            pending = pending << 6 | UInt32(value)
            pendingBits += 6
            if pendingBits >= 8 {
                pendingBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
                pending &= (1 << UInt32(pendingBits)) - 1
            }
        }
        // Six bits left over are a lone character, which encodes nothing.
        guard pendingBits < 6, pending == 0 else { return nil }
        return bytes
    }

    /// The bytes of `text`; see the other form.
    package static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
