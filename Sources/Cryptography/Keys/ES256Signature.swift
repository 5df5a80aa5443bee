import CRingwakeOpenSSL

/// The two forms of an ECDSA signature on P-256: raw r and s (JWT, RFC 7518 section 3.4) and DER (OpenSSL).
enum ES256Signature {
    /// The size of r and of s, in bytes.
    static let integerBytes = 32
    /// The size of the raw form, in bytes.
    static let rawBytes = 64

    /// The DER form; `nil` for a wrong length and where r or s is zero.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == rawBytes, raw.prefix(integerBytes).contains(where: { $0 != 0 }),
            raw.suffix(integerBytes).contains(where: { $0 != 0 }),
            let signature = OwnedPointer(ECDSA_SIG_new(), freedBy: ECDSA_SIG_free)
        else { return nil }
        let (r, s) = raw.withUnsafeBufferPointer { bytes in
            (
                BN_bin2bn(bytes.baseAddress, Int32(integerBytes), nil),
                BN_bin2bn(bytes.baseAddress.map { $0 + integerBytes }, Int32(integerBytes), nil)
            )
        }
        guard let r, let s, ECDSA_SIG_set0(signature.pointer, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        return PEM.der { i2d_ECDSA_SIG(signature.pointer, $0) }
    }

    /// The raw form; `nil` for bytes that are no signature on P-256.
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        let decoded = decodeDER(der) { d2i_ECDSA_SIG(nil, $0, $1) }
        guard let signature = OwnedPointer(decoded?.pointer, freedBy: ECDSA_SIG_free) else { return nil }
        var raw = [UInt8](repeating: 0, count: rawBytes)
        let size = Int32(integerBytes)
        let isWritten = raw.withUnsafeMutableBufferPointer { buffer in
            BN_bn2binpad(ECDSA_SIG_get0_r(signature.pointer), buffer.baseAddress, size) == size
                && BN_bn2binpad(
                    ECDSA_SIG_get0_s(signature.pointer), buffer.baseAddress.map { $0 + integerBytes }, size) == size
        }
        return isWritten ? raw : nil
    }
}
