import CRingwakeOpenSSL
package import RingwakeCore

/// Random bytes that nobody can guess: for device tokens, wake secrets, serial numbers.
package enum SecureRandom {
    /// `count` bytes of OpenSSL's generator.
    ///
    /// The generator runs in the process and asks the kernel for seed material only now and then, so a call
    /// costs no system call on a hot path.
    ///
    /// - Throws: `failed` when the generator cannot be seeded.
    package static func bytes(_ count: Int) throws(RingwakeError) -> [UInt8] {
        guard let length = Int32(exactly: count), length >= 0 else {
            throw RingwakeError(.invalidRequest, "\(count) random bytes were asked for; ask for fewer at a time.")
        }
        OpenSSLErrors.clear()
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, length) == 1 else { throw .openSSL("make random bytes") }
        return bytes
    }
}
