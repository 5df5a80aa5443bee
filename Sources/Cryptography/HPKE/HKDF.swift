import RingwakeCore

/// HKDF with SHA-256 (RFC 5869), for outputs of up to one digest.
enum HKDF {
    /// The counter of the only block of an output.
    private static let firstBlock: UInt8 = 1

    /// The pseudorandom key; an empty salt is a digest's length of zeros.
    static func extract(salt: [UInt8], inputKey: [UInt8]) throws(RingwakeError) -> [UInt8] {
        let key = salt.isEmpty ? [UInt8](repeating: 0, count: SHA256.digestBytes) : salt
        return try HMACSHA256.code(of: inputKey, key: key)
    }

    /// `count` bytes of output, at most 32.
    static func expand(_ key: [UInt8], info: [UInt8], count: Int) throws(RingwakeError) -> [UInt8] {
        precondition((0...SHA256.digestBytes).contains(count), "HKDF output of more than one block")
        return try Array(HMACSHA256.code(of: info + [firstBlock], key: key).prefix(count))
    }
}
