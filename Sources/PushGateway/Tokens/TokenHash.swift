import Cryptography
package import RingwakeCore

/// SHA-256 of a device token's bytes. The gateway's records contain only this.
///
/// A token is 32 random bytes, so its hash can't be reversed by guessing or by a table.
package nonisolated struct TokenHash: Hashable {
    private let bytes: [UInt8]

    package init(_ token: DeviceToken) {
        bytes = SHA256.digest(token.bytes)
    }

    /// Parses 64 hex digits; nil for anything else.
    init?(hex: String) {
        guard let bytes = decodeHex(Array(hex.utf8)), bytes.count == SHA256.digestBytes else { return nil }
        self.bytes = bytes
    }

    /// 64 lower-case hex digits.
    package var hex: String { encodeHex(bytes) }
}
