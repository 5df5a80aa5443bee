import CRingwakeOpenSSL
package import RingwakeCore

/// AES-GCM (NIST SP 800-38D) with nonces of 12 bytes and tags of 16. The key's size decides: AES-128 or AES-256.
package enum AESGCM {
    /// The size of a key of AES-128, in bytes.
    static let shortKeyBytes = 16
    /// The size of a key of AES-256, in bytes.
    package static let longKeyBytes = 32
    /// The size of a nonce, in bytes. A nonce must never occur twice with one key.
    package static let nonceBytes = 12
    /// The size of the tag after the ciphertext, in bytes.
    package static let tagBytes = 16

    /// The ciphertext and the tag.
    ///
    /// - Throws: `failed` when OpenSSL cannot (no memory), `limitReached` for more than 2 GiB.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        try seal(plaintext, cipher(keyBytes: key.count, nonce), key, nonce, additionalData)
    }

    /// The same with a key that is not copied.
    package static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        let cipher = cipher(keyBytes: key.count, nonce)
        return try key.withBytes { (key) throws(RingwakeError) in
            try seal(plaintext, cipher, key.assumingMemoryBound(to: UInt8.self).baseAddress, nonce, additionalData)
        }
    }

    private static func seal(
        _ plaintext: [UInt8], _ cipher: OpaquePointer?, _ key: UnsafePointer<UInt8>?, _ nonce: [UInt8],
        _ additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        let context = try newContext()
        let (count, additionalCount) = (try size(of: plaintext), try size(of: additionalData))
        // One byte more than needed, so that the buffer of an empty message has an address.
        var output = [UInt8](repeating: 0, count: plaintext.count + 1)
        var tag = [UInt8](repeating: 0, count: tagBytes)
        var written: Int32 = 0
        guard EVP_EncryptInit_ex2(context.pointer, cipher, key, nonce, nil) == 1,
            additionalCount == 0
                || EVP_EncryptUpdate(context.pointer, nil, &written, additionalData, additionalCount) == 1,
            count == 0 || EVP_EncryptUpdate(context.pointer, &output, &written, plaintext, count) == 1,
            EVP_EncryptFinal_ex(context.pointer, &output, &written) == 1,
            EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1
        else { throw .openSSL("encrypt with AES-GCM") }
        output.removeLast()
        return output + tag
    }

    /// The plaintext; `nil` when the tag doesn't fit.
    ///
    /// - Throws: as ``seal(_:key:nonce:additionalData:)``.
    package static func open(
        _ sealed: ArraySlice<UInt8>, key: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8]? {
        try open(sealed, cipher(keyBytes: key.count, nonce), key, nonce, additionalData)
    }

    /// The same with a key that is not copied.
    package static func open(
        _ sealed: ArraySlice<UInt8>, key: SecretBytes, nonce: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8]? {
        let cipher = cipher(keyBytes: key.count, nonce)
        return try key.withBytes { (key) throws(RingwakeError) in
            try open(sealed, cipher, key.assumingMemoryBound(to: UInt8.self).baseAddress, nonce, additionalData)
        }
    }

    private static func open(
        _ sealed: ArraySlice<UInt8>, _ cipher: OpaquePointer?, _ key: UnsafePointer<UInt8>?, _ nonce: [UInt8],
        _ additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8]? {
        guard sealed.count >= tagBytes else { return nil }
        let ciphertext = Array(sealed.dropLast(tagBytes))
        var tag = Array(sealed.suffix(tagBytes))
        let context = try newContext()
        let (count, additionalCount) = (try size(of: ciphertext), try size(of: additionalData))
        var output = [UInt8](repeating: 0, count: ciphertext.count + 1)
        var written: Int32 = 0
        guard EVP_DecryptInit_ex2(context.pointer, cipher, key, nonce, nil) == 1,
            additionalCount == 0
                || EVP_DecryptUpdate(context.pointer, nil, &written, additionalData, additionalCount) == 1,
            count == 0 || EVP_DecryptUpdate(context.pointer, &output, &written, ciphertext, count) == 1,
            EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag) == 1
        else { throw .openSSL("decrypt with AES-GCM") }
        let isAuthentic = EVP_DecryptFinal_ex(context.pointer, &output, &written) == 1
        OpenSSLErrors.clear()
        // In place: a copy of what may be a key would stay in memory.
        output.removeLast()
        if !isAuthentic { SecretBytes.wipe(&output) }
        return isAuthentic ? output : nil
    }

    private static func cipher(keyBytes: Int, _ nonce: [UInt8]) -> OpaquePointer? {
        precondition(nonce.count == nonceBytes, "a nonce of another size")
        switch keyBytes {
        case shortKeyBytes: return EVP_aes_128_gcm()
        case longKeyBytes: return EVP_aes_256_gcm()
        default: preconditionFailure("a key of another size")
        }
    }

    private static func newContext() throws(RingwakeError) -> OwnedPointer {
        OpenSSLErrors.clear()
        return try OwnedPointer(EVP_CIPHER_CTX_new(), freedBy: EVP_CIPHER_CTX_free, operation: "set up AES-GCM")
    }

    /// OpenSSL counts in 32 bits.
    private static func size(of bytes: [UInt8]) throws(RingwakeError) -> Int32 {
        guard let count = Int32(exactly: bytes.count) else {
            throw RingwakeError(.limitReached, "\(bytes.count) bytes are too many to encrypt at once; send less.")
        }
        return count
    }
}
