import FoundationEssentials

/// Base64 with the URL-safe alphabet and no padding (RFC 4648 section 5, as RFC 7515 section 2 uses it).
package enum Base64URL {
    /// The text of `bytes`.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        Data(bytes).base64EncodedString(options: [.base64URLAlphabet, .omitPaddingCharacter])
    }

    /// The bytes of `text`, read strictly: `nil` for a character outside the alphabet (padding and white space
    /// included), for an impossible length, and for unused bits that are not zero, so that each value has
    /// exactly one text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var padded = text.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        padded += repeatElement(UInt8(ascii: "="), count: (4 - padded.count % 4) % 4)
        // Foundation accepts more than that, so compare with its own encoding.
        guard let data = Data(base64Encoded: Data(padded)), encode(data).utf8.elementsEqual(text) else { return nil }
        return Array(data)
    }

    /// The bytes of `text`; see the other form.
    package static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }
}
