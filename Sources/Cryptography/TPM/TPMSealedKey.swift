/// A secret that one TPM can open.
package struct TPMSealedKey: Hashable, Sendable {
    /// The longest key that is read, in bytes. One on P-256 has about 400.
    package static let maximumKeyBytes = 4096
    /// The size of what is sealed, in bytes.
    package static let sealedBytes = HPKE.overheadBytes + AESGCM.longKeyBytes

    /// A key on P-256, whose private part is encrypted by the TPM: PEM of the form "TSS2 PRIVATE KEY".
    package let key: String
    /// The secret, sealed to that key by ``HPKE``.
    package let sealed: [UInt8]

    /// - Returns: nil for what ``TPM/seal(_:)`` doesn't make.
    package init?(key: String, sealed: [UInt8]) {
        guard !key.isEmpty, key.utf8.count <= Self.maximumKeyBytes, sealed.count == Self.sealedBytes else { return nil }
        self.key = key
        self.sealed = sealed
    }
}
