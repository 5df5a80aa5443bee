import ControlProtocol
import Cryptography
import RingwakeCore

/// The key that a passphrase stands for. It is made here, so that the daemon and its socket never see the passphrase.
enum PassphraseKey {
    /// Bytes of a key and of a new salt.
    private static let bytes = 32
    /// How often a person may try.
    static let maximumTries = 3
    /// The daemon may write its file of keys meanwhile.
    static let answerTimeout = Duration.seconds(30)

    /// A new salt, and what deriving a key costs.
    ///
    /// - Throws: `failed` when the generator of random numbers cannot be seeded.
    static func newDerivation() throws(RingwakeError) -> ProtectionMessage.Derivation {
        let cost = ScryptParameters.standard
        return ProtectionMessage.Derivation(
            salt: Base64URL.encode(try SecureRandom.bytes(bytes)), n: cost.n, r: cost.r, p: cost.p)
    }

    /// The key in base64url. Asks for the passphrase if there is neither a file nor one in the environment.
    ///
    /// - Parameters:
    ///   - what: what the passphrase is for.
    ///   - isNew: at a terminal it is asked for twice.
    static func key(
        file: String?, for what: String, isNew: Bool, _ derivation: ProtectionMessage.Derivation,
        in context: CommandContext
    ) throws(RingwakeError) -> String {
        guard let cost = ScryptParameters(n: derivation.n, r: derivation.r, p: derivation.p),
            let salt = Base64URL.decode(derivation.salt), !salt.isEmpty
        else {
            throw RingwakeError(
                .failed,
                "the daemon names no salt and cost of scrypt that this version takes; install the same version of both")
        }
        guard cost.n >= ProtectionMessage.Derivation.minimumN else {
            throw RingwakeError(
                .notPermitted,
                "the daemon asks for a key that is made with n = \(cost.n), from which the passphrase could be found; at least "
                    + "\(ProtectionMessage.Derivation.minimumN) is needed. Nothing was sent")
        }
        let asked = file ?? (context.environment(PasswordSource.variable) == nil && context.canAsk ? "-" : nil)
        guard let text = try PasswordSource.password(file: asked, for: what, isNew: isNew, in: context) else {
            throw RingwakeError(
                .invalidRequest,
                "no passphrase was given, and nobody is there to be asked; name a --passphrase-file, or set "
                    + PasswordSource.variable)
        }
        var bytes = Array(text.utf8)
        var key = try Passphrase(wiping: &bytes).key(salt: salt, cost, count: Self.bytes)
        defer { SecretBytes.wipe(&key) }
        return Base64URL.encode(key)
    }
}
