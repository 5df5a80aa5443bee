internal import ControlProtocol
internal import Cryptography
internal import DataProtection
internal import RingwakeCore
internal import RunLoop

/// The keys of a store that no daemon has open.
struct IdleKeys {
    let ring: KeyRing
    /// Why records are locked: a clause for a message, with what to do. Nil if what opens the keys was there, or if nothing is
    /// protected.
    let whyLocked: String?

    /// - Parameters:
    ///   - directory: the folder with the file of keys.
    ///   - passphrase: called if a passphrase opens the keys; returns nil if there is none.
    /// - Throws: `failed` if the file is damaged; `badCredential` for a wrong passphrase; what `passphrase` throws.
    init(
        inDirectory directory: String, passphrase: () throws(RingwakeError) -> Passphrase?
    ) throws(RingwakeError) {
        guard let file = try ProtectionFile.read("\(directory)/\(ProtectionFile.name)", repairs: false) else {
            (ring, whyLocked) = (.off, nil)
            return
        }
        var rootKey: RootKey?
        if case .passphrase(let salt, let cost) = file.source {
            if let passphrase = try passphrase() {
                let key = try RootKey(passphrase: passphrase, salt: salt, cost)
                try file.verify(key)
                rootKey = key
            }
            whyLocked =
                rootKey == nil ? "a passphrase opens their keys: name its file with --protection-passphrase-file" : nil
        } else {
            do throws(RingwakeError) {
                // This process has one thread.
                if file.source.kind == .tpm { TPM.prepare() }
                let key = try file.source.rootKey(
                    credentialsDirectory: processEnvironment()["CREDENTIALS_DIRECTORY"])
                try file.verify(key)
                (rootKey, whyLocked) = (key, nil)
            } catch {
                whyLocked = error.message
            }
        }
        ring = try file.ring(
            rootKey: rootKey, available: rootKey == nil ? [] : Set(ProtectionClass.withKeys), classes: [:])
    }
}

extension Passphrase {
    /// The passphrase in a line as ``IdlePassphrase`` has it; nil if there is none.
    init?(line: [UInt8]?) throws(RingwakeError) {
        guard var bytes = line.flatMap(IdlePassphrase.passphrase) else { return nil }
        try self.init(wiping: &bytes)
    }
}
