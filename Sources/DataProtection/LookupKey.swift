internal import Cryptography
package import RingwakeCore

/// Makes the keyed hashes by which a locked device looks up callers. Nobody can find a number by its hash without the key.
/// With the key it can be found by trying all numbers.
package struct LookupKey: Sendable {
    /// The size of a hash, in bytes: that of no other number among all that there are.
    package static let hashBytes = 16
    /// The size of the key, in bytes.
    static let byteCount = 32

    private let bytes: SecretBytes

    init(_ bytes: SecretBytes) {
        self.bytes = bytes
    }

    /// The hash of a number or a pattern.
    ///
    /// - Throws: `failed` when OpenSSL cannot (no memory).
    package func hash(of text: String) throws(RingwakeError) -> [UInt8] {
        try Array(HMACSHA256.code(of: Array(text.utf8), key: bytes).prefix(Self.hashBytes))
    }
}
