import CRingwakeOpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The size of a digest, in bytes.
    package static let digestBytes = 32

    /// The digest of `bytes`, 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: digestBytes)
        let outcome = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        // SHA-256 of memory fails only if libcrypto has no SHA-256: then nothing here can be trusted to run.
        precondition(outcome == 1, "libcrypto has no SHA-256")
        return digest
    }
}
