import CRingwakeOpenSSL
import Glibc
package import RingwakeCore

/// Seals a secret to this machine's TPM 2.0, by OpenSSL's provider `tpm2` (Debian: tpm2-openssl).
///
///     let sealed = try TPM.seal(secret)
///     let secret = try TPM.open(sealed)
///
/// The TPM makes a key on P-256, whose private part never leaves it in the clear. The secret is sealed to that key by
/// ``HPKE``, and the TPM computes the shared secret that opens it. Both take up to a second. The provider is loaded for
/// each operation, into a library context of its own: nothing else of this process uses it.
package enum TPM {
    /// The variable in which the provider reads how to reach the TPM.
    package static let interfaceVariable = "TPM2OPENSSL_TCTI"
    /// The kernel's own resource manager.
    package static let standardInterface = "device:/dev/tpmrm0"
    /// The variable in which its libraries read what to log. They log on standard error, in a form of their own.
    private static let logVariable = "TSS2_LOG"
    private static let noLog = "all+none"
    private static let purpose = Array("ringwake tpm key 1".utf8)

    /// Says how the TPM is reached. Call it while the program has one thread: it changes the environment.
    ///
    /// - Parameter interface: a TCTI, as `device:/dev/tpmrm0`; nil for the one that the environment names, or else
    ///   ``standardInterface``.
    package static func prepare(interface: String? = nil) {
        setenv(interfaceVariable, interface ?? standardInterface, interface == nil ? 0 : 1)
        setenv(logVariable, noLog, 0)
    }

    /// Seals 32 bytes.
    ///
    /// - Throws: `notFound` without the provider; `unreachable` without a TPM, or if it can't do this; `badConfiguration`
    ///   before ``prepare(interface:)``.
    package static func seal(_ secret: SecretBytes) throws(RingwakeError) -> TPMSealedKey {
        let library = try TPMLibrary()
        let key = try library.generate()
        var plaintext = secret.withBytes { Array($0) }
        defer { SecretBytes.wipe(&plaintext) }
        let sealed = try HPKE.seal(
            plaintext, to: P256PublicKey(der: key.subjectPublicKeyInfo), info: purpose, additionalData: [])
        guard let result = TPMSealedKey(key: String(decoding: try key.pem, as: UTF8.self), sealed: sealed) else {
            throw RingwakeError(.failed, "the TPM made a key of another form than expected; use a key file instead")
        }
        // A TPM that can't open it is found before anything depends on it.
        _ = try open(result)
        return result
    }

    /// Opens what ``seal(_:)`` has sealed.
    ///
    /// - Throws: as ``seal(_:)``, and `badCredential` for what another TPM made, and after somebody cleared the TPM.
    package static func open(_ sealed: TPMSealedKey) throws(RingwakeError) -> SecretBytes {
        let library = try TPMLibrary()
        let key = try library.read(sealed.key)
        let publicKey = try P256PublicKey(der: key.subjectPublicKeyInfo)
        do throws(RingwakeError) {
            var plaintext = try HPKE.open(
                sealed.sealed, publicPoint: publicKey.point, info: purpose, additionalData: []
            ) { (peer) throws(RingwakeError) in try key.sharedSecret(with: peer) }
            return SecretBytes(wiping: &plaintext)
        } catch {
            guard error.code == .badCredential else { throw error }
            throw RingwakeError(
                .badCredential,
                "the root key isn't sealed to the TPM's key beside it; restore protection.json from a backup")
        }
    }
}
