import CRingwakeOpenSSL
package import RingwakeCore

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The code of `message`, 32 bytes.
    package static func code(of message: [UInt8], key: [UInt8]) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        var code = [UInt8](repeating: 0, count: SHA256.digestBytes)
        var count: UInt32 = 0
        guard let keyBytes = Int32(exactly: key.count),
            HMAC(EVP_sha256(), key, keyBytes, message, message.count, &code, &count) != nil, count == code.count
        else { throw .openSSL("compute an HMAC") }
        return code
    }

    /// The same with a key that is not copied.
    package static func code(of message: [UInt8], key: SecretBytes) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        var code = [UInt8](repeating: 0, count: SHA256.digestBytes)
        var count: UInt32 = 0
        let isDone = key.withBytes { bytes in
            guard let keyBytes = Int32(exactly: bytes.count) else { return false }
            return HMAC(EVP_sha256(), bytes.baseAddress, keyBytes, message, message.count, &code, &count) != nil
        }
        guard isDone, count == code.count else { throw .openSSL("compute an HMAC") }
        return code
    }
}
