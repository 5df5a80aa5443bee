import Cryptography
import RingwakeCore

/// SHA-256 of a device token's bytes: what the gateway keeps of a token.
///
/// A token is 32 random bytes, so a plain hash can be neither guessed back nor looked up in a table.
nonisolated struct TokenHash: Hashable {
    private let bytes: [UInt8]

    init(_ token: DeviceToken) {
        bytes = SHA256.digest(token.bytes)
    }

    /// Reads 64 hex digits; nil for anything else.
    init?(hex: String) {
        guard let bytes = decodeHex(Array(hex.utf8)), bytes.count == SHA256.digestBytes else { return nil }
        self.bytes = bytes
    }

    /// 64 lower-case hex digits.
    var hex: String { encodeHex(bytes) }
}
