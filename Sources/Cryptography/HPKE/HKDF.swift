package import RingwakeCore

/// HKDF with SHA-256 (RFC 5869), for outputs of up to one digest.
package enum HKDF {
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
        var output = try HMACSHA256.code(of: info + [firstBlock], key: key)
        output.removeLast(SHA256.digestBytes - count)
        return output
    }

    /// A key of 32 bytes for one purpose, from a secret of any form and length.
    package static func key(from secret: SecretBytes, purpose: String) throws(RingwakeError) -> SecretBytes {
        var input = secret.withBytes { Array($0) }
        defer { SecretBytes.wipe(&input) }
        var extracted = try extract(salt: [], inputKey: input)
        defer { SecretBytes.wipe(&extracted) }
        var key = try expand(extracted, info: Array(purpose.utf8), count: SHA256.digestBytes)
        return SecretBytes(wiping: &key)
    }
}
