/// The UTF-8 bytes of a string in a checked payload, one after the other, without escapes.
///
/// In bytes that have not passed ``JSONSyntax``, a broken escape yields U+FFFD.
struct PayloadText: IteratorProtocol {
    private let bytes: [UInt8]
    private var offset: Int
    private let end: Int
    /// The remaining bytes of an escaped character, the next one in the lowest bits.
    private var pending: UInt32 = 0

    /// The string at `range` of `bytes`, without its quotes.
    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = min(range.upperBound, bytes.count)
    }

    mutating func next() -> UInt8? {
        if pending != 0 {
            let byte = UInt8(truncatingIfNeeded: pending)
            pending >>= 8
            return byte
        }
        guard offset < end else { return nil }
        let byte = bytes[offset]
        offset += 1
        return byte == UInt8(ascii: "\\") ? escaped() : byte
    }

    /// The whole string.
    static func string(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        guard bytes[range].contains(UInt8(ascii: "\\")) else {
            return String(decoding: bytes[range], as: UTF8.self)
        }
        var text = PayloadText(bytes, range)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        while let byte = text.next() {
            decoded.append(byte)
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    /// Whether the string's bytes are `other`.
    static func isEqual(_ bytes: [UInt8], _ range: Range<Int>, _ other: [UInt8]) -> Bool {
        // An escape is never shorter than the bytes that it encodes.
        guard range.count >= other.count else { return false }
        var text = PayloadText(bytes, range)
        for byte in other where text.next() != byte {
            return false
        }
        return text.next() == nil
    }

    /// RFC 8259 § 7: decodes the escape whose backslash has been read.
    private mutating func escaped() -> UInt8? {
        guard offset < end else { return nil }
        let byte = bytes[offset]
        offset += 1
        switch byte {
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "u"): return encoded(unicodeEscape())
        default: return byte
        }
    }

    private mutating func unicodeEscape() -> Unicode.Scalar {
        let first = fourHexDigits()
        guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) ?? "\u{FFFD}" }
        guard offset + 2 <= end, bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u") else {
            return "\u{FFFD}"
        }
        offset += 2
        let second = fourHexDigits()
        guard (0xDC00..<0xE000).contains(second) else { return "\u{FFFD}" }
        return Unicode.Scalar(0x10000 + ((first - 0xD800) << 10 | (second - 0xDC00))) ?? "\u{FFFD}"
    }

    private mutating func fourHexDigits() -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 where offset < end {
            unit = unit << 4 | UInt32(hexValue(bytes[offset]) ?? 0)
            offset += 1
        }
        return unit
    }

    /// The first byte of `scalar`; the others are pending (RFC 3629 § 3).
    private mutating func encoded(_ scalar: Unicode.Scalar) -> UInt8 {
        let value = scalar.value
        func continuation(_ shift: UInt32) -> UInt32 { 0x80 | (value >> shift & 0x3F) }
        switch value {
        case 0..<0x80:
            return UInt8(truncatingIfNeeded: value)
        case 0x80..<0x800:
            pending = continuation(0)
            return UInt8(truncatingIfNeeded: 0xC0 | value >> 6)
        case 0x800..<0x10000:
            pending = continuation(6) | continuation(0) << 8
            return UInt8(truncatingIfNeeded: 0xE0 | value >> 12)
        default:
            pending = continuation(12) | continuation(6) << 8 | continuation(0) << 16
            return UInt8(truncatingIfNeeded: 0xF0 | value >> 18)
        }
    }
}
