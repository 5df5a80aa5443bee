import CRingwakeOpenSSL
package import RingwakeCore

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

    /// The digest of bytes that come in pieces.
    package struct Running: ~Copyable {
        private let context: OwnedPointer

        /// - Throws: `failed` when OpenSSL cannot (no memory).
        package init() throws(RingwakeError) {
            OpenSSLErrors.clear()
            let new = try OwnedPointer(EVP_MD_CTX_new(), freedBy: EVP_MD_CTX_free, operation: "set up SHA-256")
            guard EVP_DigestInit_ex(new.pointer, EVP_sha256(), nil) == 1 else { throw .openSSL("set up SHA-256") }
            context = new
        }

        package func add(_ bytes: UnsafeRawBufferPointer) {
            let outcome = EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count)
            precondition(outcome == 1, "libcrypto has no SHA-256")
        }

        /// The digest, 32 bytes.
        package consuming func finish() -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: digestBytes)
            let outcome = EVP_DigestFinal_ex(context.pointer, &digest, nil)
            precondition(outcome == 1, "libcrypto has no SHA-256")
            return digest
        }
    }
}
