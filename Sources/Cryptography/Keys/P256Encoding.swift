import CRingwakeOpenSSL

/// The encodings of a public key on P-256: the uncompressed point (SEC 1 section 2.3.3) and SubjectPublicKeyInfo.
enum P256Encoding {
    /// The size of a coordinate, in bytes.
    static let coordinateBytes = 32
    /// The size of an uncompressed point, in bytes: 0x04, x, y.
    static let pointBytes = 65
    /// The first byte of an uncompressed point.
    private static let uncompressed: UInt8 = 0x04
    /// SubjectPublicKeyInfo of P-256 up to the point: id-ecPublicKey with prime256v1 (RFC 5480 section 2).
    private static let prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// ECPrivateKey (RFC 5915) of P-256 with its public key, 121 bytes. Parts of another size make DER that nobody reads.
    static func privateKey(scalar: UnsafeRawBufferPointer, point: [UInt8]) -> [UInt8] {
        var der: [UInt8] = []
        // Not to be moved, which would leave a copy of the scalar behind.
        der.reserveCapacity(privateKeyStart.count + scalar.count + publicKeyStart.count + point.count)
        der += privateKeyStart
        der += scalar
        der += publicKeyStart
        der += point
        return der
    }

    /// ECPrivateKey up to the scalar.
    private static let privateKeyStart: [UInt8] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20]
    /// What follows the scalar up to the point: prime256v1, and the start of the public key.
    private static let publicKeyStart: [UInt8] = [
        0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0xA1, 0x44, 0x03, 0x42, 0x00,
    ]

    /// SubjectPublicKeyInfo of the point; `nil` for bytes that don't look like an uncompressed point. Whether the point
    /// is on the curve is not checked.
    static func subjectPublicKeyInfo(ofPoint point: [UInt8]) -> [UInt8]? {
        guard point.count == pointBytes, point.first == uncompressed else { return nil }
        return prefix + point
    }

    /// The point in a SubjectPublicKeyInfo of exactly this form; `nil` for anything else.
    static func point(of subjectPublicKeyInfo: [UInt8]) -> [UInt8]? {
        guard subjectPublicKeyInfo.count == prefix.count + pointBytes, subjectPublicKeyInfo.starts(with: prefix),
            subjectPublicKeyInfo[prefix.count] == uncompressed
        else { return nil }
        return Array(subjectPublicKeyInfo.dropFirst(prefix.count))
    }

    /// The uncompressed point of OpenSSL's key, whatever form the key was read in; `nil` for a key without one.
    static func point(of key: OpaquePointer) -> [UInt8]? {
        guard let x = coordinate(OSSL_PKEY_PARAM_EC_PUB_X, of: key),
            let y = coordinate(OSSL_PKEY_PARAM_EC_PUB_Y, of: key)
        else { return nil }
        return [uncompressed] + x + y
    }

    /// The number that is the private key; `nil` for a key without one.
    static func scalar(of key: OpaquePointer) -> SecretBytes? {
        guard var bytes = coordinate(OSSL_PKEY_PARAM_PRIV_KEY, of: key) else { return nil }
        return SecretBytes(wiping: &bytes)
    }

    private static func coordinate(_ name: String, of key: OpaquePointer) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1,
            let number = OwnedPointer(number, freedBy: BN_clear_free)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: coordinateBytes)
        let size = Int32(coordinateBytes)
        return BN_bn2binpad(number.pointer, &bytes, size) == size ? bytes : nil
    }
}
