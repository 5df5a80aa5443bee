internal import ControlProtocol
internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import RingwakeCore
internal import RunLoop

/// The keys of a store that no daemon has open.
struct IdleKeys {
    let ring: KeyRing
    /// The file of keys with what opens it; nil if nothing does.
    private(set) var opened: (file: ProtectionFile, rootKey: RootKey)?
    /// Why records can't be opened with them, if some can't: a clause for a message.
    let why: String

    /// - Parameters:
    ///   - directory: the folder with the file of keys.
    ///   - passphrase: called if a passphrase opens the keys; returns nil if there is none.
    /// - Throws: `failed` if the file is damaged; `badCredential` for a wrong passphrase; what `passphrase` throws.
    init(
        inDirectory directory: String, passphrase: () throws(RingwakeError) -> Passphrase?
    ) throws(RingwakeError) {
        guard let file = try ProtectionFile.read("\(directory)/\(ProtectionFile.name)", repairs: false) else {
            (ring, why) = (.off, "\(ProtectionFile.name), which has their keys, isn't there")
            return
        }
        let others = "their keys aren't in \(ProtectionFile.name), or were deleted, or they are damaged"
        if case .passphrase(let salt, let cost) = file.source {
            if let passphrase = try passphrase() {
                let rootKey = try RootKey(passphrase: passphrase, salt: salt, cost)
                ring = try Self.open(file, rootKey)
                opened = (file, rootKey)
                why = others
            } else {
                ring = try Self.closed(file)
                why = "a passphrase opens their keys; name its file with --protection-passphrase-file"
            }
            return
        }
        var (open, failure): (KeyRing?, String) = (nil, others)
        do throws(RingwakeError) {
            // This process has one thread.
            if file.source.kind == .tpm { TPM.prepare() }
            let rootKey = try file.source.rootKey(
                credentialsDirectory: processEnvironment()["CREDENTIALS_DIRECTORY"])
            open = try Self.open(file, rootKey)
            opened = (file, rootKey)
        } catch {
            failure = error.message
        }
        why = failure
        if let open { ring = open } else { ring = try Self.closed(file) }
    }

    /// The keys to write records with, of which no passphrase is known: they are sealed then. Entries of lists stay as they are
    /// where the key for look-ups can't be had, until the daemon starts.
    ///
    /// - Throws: As ``init(inDirectory:passphrase:)``.
    static func forWriting(inDirectory directory: String, _ settings: ProtectionSettings) throws(RingwakeError)
        -> KeyRing
    {
        guard settings.rootKey != .off else { return .off }
        var ring = try IdleKeys(inDirectory: directory) { nil }.ring
        ring.classes = settings.classes.byKind
        if ring.lookup == nil { ring.classes[.lists] = nil }
        return ring
    }

    private static func open(_ file: ProtectionFile, _ rootKey: RootKey) throws(RingwakeError) -> KeyRing {
        try file.ring(rootKey: rootKey, available: Set(ProtectionClass.withKeys), classes: [:])
    }

    private static func closed(_ file: ProtectionFile) throws(RingwakeError) -> KeyRing {
        try file.ring(rootKey: nil, available: [], classes: [:])
    }
}

extension Passphrase {
    /// The passphrase in a line as ``IdlePassphrase`` has it; nil if there is none.
    init?(line: [UInt8]?) throws(RingwakeError) {
        guard var bytes = line.flatMap(IdlePassphrase.passphrase) else { return nil }
        try self.init(wiping: &bytes)
    }
}
