package import RingwakeCore

/// Seals a message for the holder of a key: HPKE (RFC 9180), base mode, one message per encapsulated key, with
/// DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM.
///
///     let sealed = try HPKE.seal(payload, to: device, info: info, additionalData: headers)
///     let payload = try HPKE.open(sealed, with: key, info: info, additionalData: headers)
///
/// Base mode doesn't authenticate the sender: everybody who knows the public key can seal.
package enum HPKE {
    /// How much longer a sealed message is, in bytes: the encapsulated key and the tag.
    package static let overheadBytes = P256Encoding.pointBytes + AESGCM.tagBytes

    /// Seals `plaintext`: the encapsulated key (65 bytes), the ciphertext, and the tag (16 bytes).
    ///
    /// - Parameters:
    ///   - info: what the message is for; both ends must name the same.
    ///   - additionalData: data outside that must not be changed on the way.
    /// - Throws: `failed` when OpenSSL cannot (no memory), `limitReached` for more than 2 GiB.
    package static func seal(
        _ plaintext: [UInt8], to recipient: P256PublicKey, info: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        try seal(
            plaintext, to: recipient, info: info, additionalData: additionalData, ephemeral: P256PrivateKey.generate())
    }

    /// Opens a sealed message.
    ///
    /// - Throws: `badCredential` when it was sealed for another key, with other `info` or `additionalData`, or changed
    ///   on the way: these cannot be told apart.
    package static func open(
        _ sealed: [UInt8], with key: P256PrivateKey, info: [UInt8], additionalData: [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        try open(sealed, publicPoint: key.publicPoint, info: info, additionalData: additionalData) {
            (peer) throws(RingwakeError) in try key.sharedSecret(with: peer)
        }
    }

    /// The same with a key that computes its shared secrets elsewhere: in a TPM.
    static func open(
        _ sealed: [UInt8], publicPoint: [UInt8], info: [UInt8], additionalData: [UInt8],
        sharedSecret: (P256PublicKey) throws(RingwakeError) -> [UInt8]
    ) throws(RingwakeError) -> [UInt8] {
        guard sealed.count >= overheadBytes else {
            throw RingwakeError(
                .badCredential,
                "The sealed message has \(sealed.count) bytes, fewer than the \(overheadBytes) of an empty one; "
                    + "it was cut off or isn't sealed.")
        }
        let encapsulated = Array(sealed.prefix(P256Encoding.pointBytes))
        guard let ephemeral = try? P256PublicKey(point: encapsulated) else {
            throw RingwakeError(
                .badCredential,
                "The sealed message doesn't begin with a point of P-256; it was changed on the way or isn't sealed.")
        }
        let schedule = try KeySchedule(
            secret: sharedSecret(ephemeral), encapsulated: encapsulated, recipient: publicPoint, info: info)
        guard
            let plaintext = try AESGCM.open(
                sealed.dropFirst(P256Encoding.pointBytes), key: schedule.key, nonce: schedule.baseNonce,
                additionalData: additionalData)
        else {
            throw RingwakeError(
                .badCredential,
                "The sealed message cannot be opened: it was sealed for another key or purpose, or changed on the way.")
        }
        return plaintext
    }

    /// ``seal(_:to:info:additionalData:)`` with the sender's key, which must never seal twice: for test vectors.
    static func seal(
        _ plaintext: [UInt8], to recipient: P256PublicKey, info: [UInt8], additionalData: [UInt8],
        ephemeral: P256PrivateKey
    ) throws(RingwakeError) -> [UInt8] {
        let schedule = try KeySchedule(
            secret: ephemeral.sharedSecret(with: recipient), encapsulated: ephemeral.publicPoint,
            recipient: recipient.point, info: info)
        return try ephemeral.publicPoint
            + AESGCM.seal(
                plaintext, key: schedule.key, nonce: schedule.baseNonce, additionalData: additionalData)
    }

    /// What both ends derive from the secret that they share (RFC 9180 sections 4.1 and 5.1).
    struct KeySchedule {
        private static let version = Array("HPKE-v1".utf8)
        /// `KEM` and the number of DHKEM(P-256, HKDF-SHA256).
        private static let kemSuite = Array("KEM".utf8) + [0x00, 0x10]
        /// `HPKE` and the numbers of the KEM, of HKDF-SHA256 and of AES-128-GCM.
        private static let suite = Array("HPKE".utf8) + [0x00, 0x10, 0x00, 0x01, 0x00, 0x01]
        private static let baseMode: UInt8 = 0

        /// The secret of the KEM.
        let sharedSecret: [UInt8]
        /// The key of the AEAD.
        let key: [UInt8]
        /// The nonce of the first message, the only one.
        let baseNonce: [UInt8]

        /// - Parameters:
        ///   - secret: the result of Diffie-Hellman.
        ///   - encapsulated: the sender's public point.
        ///   - recipient: the recipient's public point.
        init(secret: [UInt8], encapsulated: [UInt8], recipient: [UInt8], info: [UInt8]) throws(RingwakeError) {
            let kemKey = try Self.extract(salt: [], "eae_prk", secret, suite: Self.kemSuite)
            sharedSecret = try Self.expand(
                kemKey, "shared_secret", encapsulated + recipient, count: SHA256.digestBytes, suite: Self.kemSuite)
            // Base mode has an empty PSK and an empty PSK id.
            let context =
                try [Self.baseMode] + Self.extract(salt: [], "psk_id_hash", [], suite: Self.suite)
                + Self.extract(salt: [], "info_hash", info, suite: Self.suite)
            let scheduled = try Self.extract(salt: sharedSecret, "secret", [], suite: Self.suite)
            key = try Self.expand(scheduled, "key", context, count: AESGCM.shortKeyBytes, suite: Self.suite)
            baseNonce = try Self.expand(
                scheduled, "base_nonce", context, count: AESGCM.nonceBytes, suite: Self.suite)
        }

        private static func extract(
            salt: [UInt8], _ label: String, _ inputKey: [UInt8], suite: [UInt8]
        ) throws(RingwakeError) -> [UInt8] {
            try HKDF.extract(salt: salt, inputKey: version + suite + Array(label.utf8) + inputKey)
        }

        private static func expand(
            _ key: [UInt8], _ label: String, _ info: [UInt8], count: Int, suite: [UInt8]
        ) throws(RingwakeError) -> [UInt8] {
            let length = [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            return try HKDF.expand(key, info: length + version + suite + Array(label.utf8) + info, count: count)
        }
    }
}
