/// The name of a device on a link: the SHA-256 of its public key (SubjectPublicKeyInfo), in base32 (RFC 4648) of lower
/// case without padding. Who holds the private key is the device.
package struct DeviceID: Hashable, Sendable, CodedAsText {
    package let rawValue: String
    /// The first twelve characters, by which ids are hashed and told apart. The id is a SHA-256 itself: nobody finds many
    /// with the same 60 bits.
    private let prefix: UInt64

    /// Characters of an id: 256 bits in base32.
    package static let length = 52

    /// Accepts 52 characters of `a` to `z` and `2` to `7`, of which the last one holds a single bit.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.count == DeviceID.length, bytes.allSatisfy({ DeviceID.isDigit($0) }), let last = bytes.last,
            last == UInt8(ascii: "a") || last == UInt8(ascii: "q")
        else { return nil }
        rawValue = text
        prefix = bytes.prefix(12).reduce(0) { $0 << 5 | UInt64(DeviceID.value($1)) }
    }

    package static func == (left: DeviceID, right: DeviceID) -> Bool {
        left.prefix == right.prefix && left.rawValue == right.rawValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(prefix) }

    private static func value(_ digit: UInt8) -> UInt8 {
        digit >= UInt8(ascii: "a") ? digit - UInt8(ascii: "a") : digit - UInt8(ascii: "2") + 26
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
    }

    /// The first eight characters, for people.
    package var short: String { String(rawValue.prefix(8)) }

    package static let textName = "a device id"
    package var description: String { rawValue }
}

/// Names a registration of a device: 32 random bits that are never used again, so that a push for a registration that is
/// gone can't reach another app.
package struct LinkSlot: Hashable, Sendable, CodedAsText {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads eight lower-case hex digits.
    package init?(_ text: String) {
        guard text.utf8.count == 8, let value = UInt32(text, radix: 16), text == LinkSlot(rawValue: value).description
        else { return nil }
        rawValue = value
    }

    package static let textName = "a slot"
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}

/// Where a verified push goes.
package enum PushDestination: Hashable, Sendable {
    /// An app of this machine.
    case local
    /// An app of a linked device.
    case device(DeviceID, LinkSlot)
}
