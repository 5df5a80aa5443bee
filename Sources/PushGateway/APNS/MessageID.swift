import Cryptography
import RingwakeCore
import Synchronization

/// The UUIDs of the provider API: `apns-id` and `apns-unique-id`.
nonisolated enum MessageID {
    /// Maximum bytes of an `apns-id` that is echoed; a UUID has 36.
    static let maximumEchoedBytes = 128

    private static let byteCount = 16
    private static let textLength = 36

    /// Whether `text` is a UUID: 8-4-4-4-12 hex digits in either case, any version.
    static func isWellFormed(_ text: String) -> Bool {
        let bytes = text.utf8.span
        guard bytes.count == textLength else { return false }
        return bytes.indices.allSatisfy { index in
            switch index {
            case 8, 13, 18, 23: bytes[index] == UInt8(ascii: "-")
            default: isHexDigit(bytes[index])
            }
        }
    }

    /// Whether `text` may be in an answer: printable ASCII of limited length. A sender matches the answer by the text
    /// that it sent, so even a malformed ID is echoed if possible.
    static func canBeEchoed(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumEchoedBytes
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// A random UUID, version 4, in canonical lower case (RFC 9562 section 5.4).
    static func make() -> String {
        var bytes = Array(randomBytes())
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return String(unsafeUninitializedCapacity: textLength) { buffer in
            var end = 0
            for (index, byte) in bytes.enumerated() {
                if index == 4 || index == 6 || index == 8 || index == 10 {
                    buffer[end] = UInt8(ascii: "-")
                    end += 1
                }
                buffer[end] = hexDigit(byte >> 4)
                buffer[end + 1] = hexDigit(byte & 0x0F)
                end += 2
            }
            return end
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Random bytes for the next ids: drawing them takes longer than all else about an id.
    private static let supply = Mutex<ArraySlice<UInt8>>([])
    private static let suppliedIDs = 64

    private static func randomBytes() -> ArraySlice<UInt8> {
        supply.withLock { supply in
            if supply.count < byteCount { supply = drawnBytes(suppliedIDs * byteCount)[...] }
            defer { supply = supply.dropFirst(byteCount) }
            return supply.prefix(byteCount)
        }
    }

    /// An ID has to be unique, not secret. If OpenSSL's generator fails, the kernel's is good enough.
    private static func drawnBytes(_ count: Int) -> [UInt8] {
        if let bytes = try? SecureRandom.bytes(count), bytes.count == count {
            return bytes
        }
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default:
            false
        }
    }
}
