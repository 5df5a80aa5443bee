/// The address of a push: 32 random bytes per app and environment, written as 64 hex digits.
///
/// Each app has its own, so that two vendors cannot find out that they reach the same device.
package struct DeviceToken: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// The size of a token in bytes.
    package static let byteCount = 32

    /// Makes a token of random bytes; nil unless there are 32 of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == DeviceToken.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads 64 hex digits of either case; nil for anything else.
    package init?(hex: String) {
        guard let bytes = decodeHex(Array(hex.utf8)), let token = DeviceToken(bytes: bytes) else { return nil }
        self = token
    }

    /// The token as in the path of a request: 64 lower-case hex digits.
    package var hex: String { encodeHex(bytes) }

    /// Tokens are capabilities and stay out of logs: only the first four digits are shown.
    package var description: String { "\(hex.prefix(4))…" }
}

/// Decodes pairs of hex digits of either case; nil for an odd count or any other character.
package func decodeHex(_ digits: [UInt8]) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    var high: UInt8?
    for digit in digits {
        guard let value = hexValue(digit) else { return nil }
        if let upper = high {
            bytes.append(upper << 4 | value)
            high = nil
        } else {
            high = value
        }
    }
    return bytes
}

/// `bytes` as lower-case hex digits.
package func encodeHex(_ bytes: [UInt8]) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        digits.append(hexDigit(byte >> 4))
        digits.append(hexDigit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
}

/// The value of a hex digit of either case; nil for any other byte.
func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}
