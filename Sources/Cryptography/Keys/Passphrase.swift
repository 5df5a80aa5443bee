import CRingwakeOpenSSL
package import RingwakeCore

/// A passphrase.
package struct Passphrase: Sendable {
    /// Longer ones are a file that somebody named by mistake, in bytes.
    package static let maximumBytes = 1024

    private let bytes: SecretBytes

    /// Copies the bytes, and wipes them where they were. Other copies that the caller has are not wiped.
    ///
    /// - Throws: `invalidRequest` for an empty passphrase, and for one of more than ``maximumBytes``.
    package init(wiping bytes: inout [UInt8]) throws(RingwakeError) {
        defer { SecretBytes.wipe(&bytes) }
        guard !bytes.isEmpty else {
            throw RingwakeError(.invalidRequest, "the passphrase is empty; choose one that nobody can guess")
        }
        guard bytes.count <= Self.maximumBytes else {
            throw RingwakeError(
                .invalidRequest,
                "the passphrase has \(bytes.count) bytes; at most \(Self.maximumBytes) are allowed")
        }
        self.bytes = SecretBytes(wiping: &bytes)
    }

    /// A key of `count` bytes by scrypt (RFC 7914). It takes the time and the memory that the parameters say.
    ///
    /// - Throws: `failed` when OpenSSL cannot (no memory).
    package func key(salt: [UInt8], _ parameters: ScryptParameters, count: Int) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        var key = [UInt8](repeating: 0, count: count)
        let outcome = bytes.withBytes { bytes in
            EVP_PBE_scrypt(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, salt, salt.count,
                UInt64(parameters.n), UInt64(parameters.r), UInt64(parameters.p),
                UInt64(ScryptParameters.maximumMemoryBytes + ScryptParameters.overheadBytes), &key, count)
        }
        guard outcome == 1 else { throw .openSSL("derive a key from the passphrase") }
        return key
    }
}
