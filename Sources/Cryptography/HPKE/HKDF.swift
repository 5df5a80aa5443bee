import CRingwakeOpenSSL
import RingwakeCore

/// HKDF with SHA-256 (RFC 5869), for outputs of up to one digest.
enum HKDF {
    /// The counter of the only block of an output.
    private static let firstBlock: UInt8 = 1

    /// The pseudorandom key; an empty salt is a digest's length of zeros.
    static func extract(salt: [UInt8], inputKey: [UInt8]) throws(RingwakeError) -> [UInt8] {
        let key = salt.isEmpty ? [UInt8](repeating: 0, count: SHA256.digestBytes) : salt
        return try authenticate(inputKey, key: key)
    }

    /// `count` bytes of output, at most 32.
    static func expand(_ key: [UInt8], info: [UInt8], count: Int) throws(RingwakeError) -> [UInt8] {
        precondition((0...SHA256.digestBytes).contains(count), "HKDF output of more than one block")
        return try Array(authenticate(info + [firstBlock], key: key).prefix(count))
    }

    /// HMAC-SHA-256 (RFC 2104) of `message`.
    private static func authenticate(_ message: [UInt8], key: [UInt8]) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        var code = [UInt8](repeating: 0, count: SHA256.digestBytes)
        var count: UInt32 = 0
        guard let keyBytes = Int32(exactly: key.count),
            HMAC(EVP_sha256(), key, keyBytes, message, message.count, &code, &count) != nil, count == code.count
        else { throw .openSSL("compute an HMAC") }
        return code
    }
}
