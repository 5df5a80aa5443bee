/// The fixed part of a message's header (D-Bus Specification, "Message Format"): as much as framing needs.
struct MessageHeader {
    /// Bytes of the fixed part, the length of the field array included.
    static let fixedBytes = 16
    /// Bytes of the field array that are searched for the serial number of a reply.
    static let searchedFieldBytes: UInt64 = 1_024

    private let isBigEndian: Bool
    private let isReply: Bool
    private let fieldBytes: UInt64
    /// Bytes of the whole message.
    let totalBytes: UInt64

    /// - Returns: nil if the bytes can't be a message.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixedBytes else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "l"): isBigEndian = false
        case UInt8(ascii: "B"): isBigEndian = true
        default: return nil
        }
        // METHOD_RETURN and ERROR.
        isReply = bytes[1] == 2 || bytes[1] == 3
        fieldBytes = UInt64(Self.number(bytes, at: 12, isBigEndian) ?? 0)
        let bodyBytes = UInt64(Self.number(bytes, at: 4, isBigEndian) ?? 0)
        // The body begins at a multiple of eight. Sums of numbers of 32 bits: no overflow.
        totalBytes = UInt64(Self.fixedBytes) + (fieldBytes + 7) / 8 * 8 + bodyBytes
    }

    /// Bytes that ``replySerial(in:)`` needs.
    var searchedBytes: UInt64 { UInt64(Self.fixedBytes) + min(fieldBytes, Self.searchedFieldBytes) }

    /// The serial number of the call that this message replies to; nil when it is no reply, or when the field is not
    /// among the bytes.
    func replySerial(in bytes: [UInt8]) -> UInt64? {
        guard isReply else { return nil }
        var position = Self.fixedBytes
        // A field is at least eight bytes with its padding, so the loop ends.
        while position + 8 <= bytes.count, position - Self.fixedBytes < fieldBytes {
            let code = bytes[position]
            // A signature of one type: length, character, NUL.
            guard bytes[position + 1] == 1, bytes[position + 3] == 0 else { return nil }
            let value = position + 4
            let next: Int
            switch bytes[position + 2] {
            case UInt8(ascii: "u"):
                if code == 5 { return Self.number(bytes, at: value, isBigEndian).map(UInt64.init) }
                next = value + 4
            case UInt8(ascii: "s"), UInt8(ascii: "o"):
                guard let length = Self.number(bytes, at: value, isBigEndian), length <= Self.searchedFieldBytes else {
                    return nil
                }
                next = value + 4 + Int(length) + 1
            case UInt8(ascii: "g"):
                next = value + 1 + Int(bytes[value]) + 1
            default: return nil
            }
            position = (next + 7) / 8 * 8
        }
        return nil
    }

    private static func number(_ bytes: [UInt8], at position: Int, _ isBigEndian: Bool) -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        let four = bytes[position..<position + 4]
        return (isBigEndian ? Array(four) : four.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
