import CRingwakeOpenSSL
package import RingwakeCore

/// Bytes that nobody else may read: a key, a passphrase. Their memory is overwritten with this object, and isn't copied.
package final class SecretBytes: Sendable {
    // A pointer isn't Sendable. Nothing writes to these bytes after `init`, and they live as long as this object, so threads
    // may read them together.
    nonisolated(unsafe) private let buffer: UnsafeMutableRawBufferPointer

    /// Copies the bytes, and overwrites them where they were. Other copies that the caller has stay.
    package init(wiping bytes: inout [UInt8]) {
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
        Self.wipe(&bytes)
    }

    /// Random bytes of OpenSSL's generator.
    ///
    /// - Throws: `failed` when the generator cannot be seeded.
    package convenience init(random count: Int) throws(RingwakeError) {
        var bytes = try SecureRandom.bytes(count)
        self.init(wiping: &bytes)
    }

    /// Two secrets, one after the other.
    package init(joining first: SecretBytes, _ second: SecretBytes) {
        buffer = .allocate(byteCount: first.count + second.count, alignment: 1)
        first.withBytes { buffer.copyBytes(from: $0) }
        second.withBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[first.count...]).copyBytes(from: $0) }
    }

    deinit {
        OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        buffer.deallocate()
    }

    package var count: Int { buffer.count }

    /// Lends the bytes. Whoever copies them has to overwrite the copy.
    package func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(self) { () throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }

    /// A part of the bytes, as a secret of its own. The range must be within them.
    package func part(_ range: Range<Int>) -> SecretBytes {
        var bytes = withBytes { Array($0[range]) }
        return SecretBytes(wiping: &bytes)
    }

    /// Overwrites bytes that were secret, in a way that the compiler doesn't leave out.
    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
