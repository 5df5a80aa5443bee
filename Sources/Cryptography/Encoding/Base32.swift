/// Base32 (RFC 4648 section 6) in lower case and without padding, for names such as a device's.
package enum Base32 {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    /// The value of each character, by its ASCII code; nil for characters outside the alphabet.
    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(truncatingIfNeeded: value) }
        return values
    }()
    private static let bitsPerCharacter = 5
    private static let bitsPerByte = 8

    /// The text of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * bitsPerByte + bitsPerCharacter - 1) / bitsPerCharacter)
        var pending: UInt16 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << bitsPerByte | UInt16(byte)
            bits += bitsPerByte
            while bits >= bitsPerCharacter {
                bits -= bitsPerCharacter
                text.append(alphabet[Int(pending >> bits & 0x1F)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(pending << (bitsPerCharacter - bits) & 0x1F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of `text`, read strictly: `nil` for a character outside the alphabet (capitals, padding and white
    /// space included), for an impossible length, and for unused bits that are not zero, so that each value has
    /// exactly one text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * bitsPerCharacter / bitsPerByte)
        var pending: UInt16 = 0
        var bits = 0
        for character in text {
            guard let value = values[Int(character)] else { return nil }
            pending = pending << bitsPerCharacter | UInt16(value)
            bits += bitsPerCharacter
            guard bits >= bitsPerByte else { continue }
            bits -= bitsPerByte
            bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
        }
        // A whole character left over means that the length is impossible.
        let unused: UInt16 = (1 << bits) - 1
        guard bits < bitsPerCharacter, pending & unused == 0 else { return nil }
        return bytes
    }

    /// The bytes of `text`; see the other form.
    package static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }
}
