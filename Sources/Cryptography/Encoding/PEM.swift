import CRingwakeOpenSSL
import RingwakeCore

/// One certificate of OpenSSL, shared by reference count.
final class X509Reference {
    private let owned: OwnedPointer

    /// Lends the `X509` to `body`, and keeps the certificate alive during the call: otherwise the optimizer may
    /// release the object after its pointer was read.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(owned.pointer) }
    }

    /// Takes ownership of one reference.
    init?(_ pointer: OpaquePointer?) {
        guard let owned = OwnedPointer(pointer, freedBy: X509_free) else { return nil }
        self.owned = owned
    }
}

/// Reading and writing PEM (RFC 7468) in memory.
enum PEM {
    /// Maximum bytes of a PEM text; the CA bundle of Debian has 220 KiB.
    static let maximumBytes = 1024 * 1024

    /// Every certificate in `bytes`, in order; other blocks are skipped.
    ///
    /// - Parameter name: what the certificates are for, as in "provider CA", for the message.
    /// - Throws: `badCredential` when there is none, or one that cannot be read.
    static func certificates(in bytes: [UInt8], name: String) throws(RingwakeError) -> [X509Reference] {
        let source = try memory(holding: bytes, name: name)
        OpenSSLErrors.clear()
        var found: [X509Reference] = []
        while let certificate = X509Reference(PEM_read_bio_X509(source.pointer, nil, noPassword, nil)) {
            found.append(certificate)
        }
        let reasons = OpenSSLErrors.drain()
        let isAtEnd = reasons.last.map { $0.library == ERR_LIB_PEM && $0.number == PEM_R_NO_START_LINE } ?? true
        guard isAtEnd else {
            throw RingwakeError(
                .badCredential,
                "Certificate \(found.count + 1) of the \(name) PEM cannot be read: \(OpenSSLErrors.text(of: reasons)); "
                    + "check that the file was copied whole.")
        }
        guard !found.isEmpty else {
            throw RingwakeError(
                .badCredential,
                "The \(name) PEM holds no certificate; it must have a block '-----BEGIN CERTIFICATE-----'.")
        }
        return found
    }

    /// The private key in `bytes`, as an `EVP_PKEY` that the caller owns.
    static func privateKey(in bytes: [UInt8]) throws(RingwakeError) -> OwnedPointer {
        let source = try memory(holding: bytes, name: "private key")
        OpenSSLErrors.clear()
        if let key = OwnedPointer(
            PEM_read_bio_PrivateKey(source.pointer, nil, noPassword, nil), freedBy: EVP_PKEY_free)
        {
            OpenSSLErrors.clear()
            return key
        }
        let reasons = OpenSSLErrors.drain()
        if contains(label: "ENCRYPTED PRIVATE KEY", in: bytes) || contains(text: "Proc-Type: 4,ENCRYPTED", in: bytes) {
            throw RingwakeError(
                .badCredential,
                "The private key is protected by a password; remove it with "
                    + "'openssl pkey -in KEY -out NEW' and protect the file with mode 0600 instead.")
        }
        guard contains(text: "PRIVATE KEY-----", in: bytes) else {
            throw RingwakeError(
                .badCredential,
                "The PEM holds no private key; it must have a block '-----BEGIN PRIVATE KEY-----'.")
        }
        throw RingwakeError(
            .badCredential,
            "The private key cannot be read: \(OpenSSLErrors.text(of: reasons)); "
                + "check that the file was copied whole.")
    }

    /// A BIO that reads `bytes`.
    static func memory(holding bytes: [UInt8], name: String) throws(RingwakeError) -> OwnedPointer {
        guard bytes.count <= maximumBytes else {
            throw RingwakeError(
                .badCredential,
                "The \(name) PEM has \(bytes.count) bytes, more than the \(maximumBytes) that are read; "
                    + "is it the right file?")
        }
        let memory = try OwnedPointer(
            BIO_new(BIO_s_mem()), freedBy: BIO_free_all, operation: "make a memory buffer")
        var written = 0
        guard bytes.isEmpty || BIO_write_ex(memory.pointer, bytes, bytes.count, &written) == 1 else {
            throw .openSSL("fill a memory buffer")
        }
        return memory
    }

    /// The text that `body` writes into a BIO.
    static func text(
        operation: String, _ body: (OpaquePointer) -> Int32
    ) throws(RingwakeError) -> [UInt8] {
        OpenSSLErrors.clear()
        let memory = try OwnedPointer(
            BIO_new(BIO_s_mem()), freedBy: BIO_free_all, operation: "make a memory buffer")
        guard body(memory.pointer) == 1 else { throw .openSSL(operation) }
        var data: UnsafeMutablePointer<CChar>?
        let count = ringwake_BIO_get_mem_data(memory.pointer, &data)
        guard count > 0, let data else { throw .openSSL(operation) }
        return Array(UnsafeRawBufferPointer(start: data, count: count))
    }

    /// Whether `bytes` has a block with this label.
    static func contains(label: String, in bytes: [UInt8]) -> Bool {
        contains(text: "-----BEGIN \(label)-----", in: bytes)
    }

    /// Whether `text` occurs in `bytes`.
    static func contains(text: String, in bytes: [UInt8]) -> Bool {
        let wanted = Array(text.utf8)
        guard let first = wanted.first, bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { start in
            bytes[start] == first && bytes[start..<(start + wanted.count)].elementsEqual(wanted)
        }
    }

    /// The DER that `encode`, an `i2d_` function of OpenSSL, writes; `nil` when it fails.
    static func der(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
        guard let count = Int(exactly: encode(nil)), count > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            var cursor = buffer.baseAddress
            used = encode(&cursor) == count ? count : 0
        }
    }
}

/// Reads DER by one of OpenSSL's `d2i_` functions.
///
/// - Returns: What it read, and whether no bytes follow that; nil if it failed.
func decodeDER(
    _ der: [UInt8], _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
) -> (pointer: OpaquePointer, isWhole: Bool)? {
    OpenSSLErrors.clear()
    return der.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        guard let pointer = decode(&cursor, buffer.count) else { return nil }
        return (pointer, cursor == buffer.baseAddress.map { $0 + buffer.count })
    }
}

/// Answers OpenSSL's request for a password with "none"; its own callback would ask on the terminal.
func noPassword(
    buffer: UnsafeMutablePointer<CChar>?, size: Int32, isWriting: Int32, argument: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
