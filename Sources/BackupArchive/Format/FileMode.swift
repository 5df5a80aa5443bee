/// The permission bits of a file, written in octal: `"0600"`. Others (set-user-ID and the like) are dropped.
package struct FileMode: Hashable, Sendable {
    package let bits: UInt32

    package init(_ mode: UInt32) {
        bits = mode & 0o777
    }
}

extension FileMode: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard text.utf8.count == 4, let mode = UInt32(text, radix: 8) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a mode that isn't like 0600")
        }
        self.init(mode)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let digits = String(bits, radix: 8)
        try container.encode(String(repeating: "0", count: 4 - digits.utf8.count) + digits)
    }
}
