import CRingwakeOpenSSL
package import RingwakeCore

/// A passphrase. Its memory is wiped with this object.
package final class Passphrase {
    /// Longer ones are a file that somebody named by mistake, in bytes.
    package static let maximumBytes = 1024

    private let buffer: UnsafeMutableRawBufferPointer

    /// Copies the bytes, and wipes them where they were. Other copies that the caller has are not wiped.
    ///
    /// - Throws: `invalidRequest` for an empty passphrase, and for one of more than ``maximumBytes``.
    package init(wiping bytes: inout [UInt8]) throws(RingwakeError) {
        defer { Passphrase.wipe(&bytes) }
        guard !bytes.isEmpty else {
            throw RingwakeError(.invalidRequest, "the passphrase is empty; choose one that nobody can guess")
        }
        guard bytes.count <= Self.maximumBytes else {
            throw RingwakeError(
                .invalidRequest,
                "the passphrase has \(bytes.count) bytes; at most \(Self.maximumBytes) are allowed")
        }
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        buffer.deallocate()
    }

    /// A key of `count` bytes by scrypt (RFC 7914). It takes the time and the memory that the parameters say.
    ///
    /// - Throws: `failed` when OpenSSL cannot (no memory).
    package func key(salt: [UInt8], _ parameters: ScryptParameters, count: Int) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        var key = [UInt8](repeating: 0, count: count)
        let outcome = EVP_PBE_scrypt(
            buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, salt, salt.count,
            UInt64(parameters.n), UInt64(parameters.r), UInt64(parameters.p),
            UInt64(ScryptParameters.maximumMemoryBytes + ScryptParameters.overheadBytes), &key, count)
        guard outcome == 1 else { throw .openSSL("derive a key from the passphrase") }
        return key
    }

    /// Overwrites bytes that were secret, in a way that the compiler doesn't leave out.
    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
