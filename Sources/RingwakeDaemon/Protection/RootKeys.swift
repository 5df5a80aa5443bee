internal import Cryptography
internal import DaemonConfiguration
internal import DataProtection
internal import FileSystem
internal import Logging
internal import RingwakeCore

/// Finds what opens the keys: what the configuration names, and what the file of keys was made with.
nonisolated struct RootKeys {
    /// The name of the credential that systemd passes.
    static let credential = "ringwake-protection"

    /// What was found.
    enum Finding {
        /// Nothing is protected: why. With a file, what it protects is read, and written again as it is.
        case off(String, ProtectionFile?, RootKey?)
        case open(Opened)
        case needsPerson(ProtectionFile, note: String?)
        /// A TPM has to be asked. Without a file, it makes the first key.
        case askTPM(ProtectionFile?)
        /// Something should be protected, and can't be: why. Without a file there are no public keys either.
        case broken(String, ProtectionFile?)
    }

    /// Keys that are open.
    struct Opened {
        var file: ProtectionFile
        var rootKey: RootKey
        /// What of the configuration isn't in force, and why.
        var note: String?
    }

    let choice: RootKeyChoice
    /// Path of the file of keys.
    let path: String
    /// `$CREDENTIALS_DIRECTORY`.
    let credentialsDirectory: String?
    let logger: Logger

    /// Reads the file of keys, or makes it where that needs no person.
    func find() -> Finding {
        let file: ProtectionFile?
        do throws(RingwakeError) {
            file = try ProtectionFile.read(path) {
                logger.warning("protection.json or its second copy is damaged or gone", metadata: ["damage": "\($0)"])
            }
        } catch {
            return .broken(error.message, nil)
        }
        switch choice {
        case .off: return off(file)
        case .auto where isCredentialPassed: return use(.credential(Self.credential), file)
        case .auto:
            guard let file else {
                return .off(
                    "systemd passes no credential '\(Self.credential)', and no other key was set up; "
                        + "Documentation/protection.md says how", nil, nil)
            }
            return open(file, wanted: nil)
        case .credential: return use(.credential(Self.credential), file)
        case .file(let path): return use(.keyFile(path), file)
        case .passphrase:
            guard let file else {
                return .off("no passphrase is set yet; run 'ringwake protection passphrase'", nil, nil)
            }
            guard file.source.kind != .passphrase else { return .needsPerson(file, note: nil) }
            return open(
                file, wanted: nil,
                note: "'root_key' is \"passphrase\", and no passphrase is set yet; run 'ringwake "
                    + "protection passphrase'")
        case .tpm: return file.map { open($0, wanted: nil, isTPMWanted: true) } ?? .askTPM(nil)
        }
    }

    /// - Throws: `conflict` if no passphrase may become what opens the keys.
    func requireThatPassphraseIsAllowed() throws(RingwakeError) {
        guard choice != .passphrase, choice != .auto || isCredentialPassed else { return }
        throw RingwakeError(
            .conflict,
            "'root_key' in [protection] names what opens the keys: \"\(choice.text)\"; set it to \"passphrase\", and restart "
                + "the daemon")
    }

    private var isCredentialPassed: Bool {
        credentialsDirectory.map { FileSystem.exists("\($0)/\(Self.credential)") } ?? false
    }

    // MARK: - Sources without a person

    private func use(_ source: RootKeySource, _ file: ProtectionFile?) -> Finding {
        if let file { return open(file, wanted: source == file.source ? nil : source) }
        do throws(RingwakeError) {
            let rootKey = try key(of: source)
            let file = try ProtectionFile.make(source, rootKey)
            try file.write(path)
            return .open(Opened(file: file, rootKey: rootKey))
        } catch {
            return .broken(error.message, nil)
        }
    }

    /// - Parameter wanted: the source that the configuration names, if it is another one.
    private func open(
        _ file: ProtectionFile, wanted: RootKeySource?, isTPMWanted: Bool = false, note: String? = nil
    ) -> Finding {
        switch file.source.kind {
        case .passphrase:
            let isOther = wanted != nil || isTPMWanted
            return .needsPerson(
                file,
                note: isOther
                    ? "the keys are still under the passphrase: unlock them once, and they get what 'root_key' names"
                    : note)
        case .tpm: return .askTPM(file)
        case .credential, .keyFile: break
        }
        do throws(RingwakeError) {
            let rootKey = try file.source.rootKey(credentialsDirectory: credentialsDirectory)
            try file.verify(rootKey)
            return .open(migrated(file, rootKey, to: wanted, note: note))
        } catch {
            return .broken(error.message, file)
        }
    }

    /// Puts the keys under what the configuration names, if that is another source without a person. If it can't be had,
    /// the present one stays.
    func migrated(_ file: ProtectionFile, _ rootKey: RootKey) -> Opened {
        switch choice {
        case .credential: migrated(file, rootKey, to: .credential(Self.credential), note: nil)
        case .file(let path): migrated(file, rootKey, to: .keyFile(path), note: nil)
        case .auto where isCredentialPassed: migrated(file, rootKey, to: .credential(Self.credential), note: nil)
        case .auto, .off, .passphrase, .tpm: Opened(file: file, rootKey: rootKey)
        }
    }

    private func migrated(
        _ file: ProtectionFile, _ rootKey: RootKey, to wanted: RootKeySource?, note: String?
    ) -> Opened {
        guard let wanted, wanted != file.source else { return Opened(file: file, rootKey: rootKey, note: note) }
        do throws(RingwakeError) {
            let new = try key(of: wanted)
            var changed = file
            try changed.rewrap(from: rootKey, to: new, source: wanted)
            try changed.write(path)
            // Somebody who can write to the disk may have put another file of keys there, with a source of theirs.
            logger.warning(
                "another source opens protected data now; if nobody changed root_key, protection.json was replaced",
                metadata: ["former": "\(Self.text(file.source))", "now": "\(Self.text(wanted))"])
            return Opened(file: changed, rootKey: new, note: note)
        } catch {
            return Opened(
                file: file, rootKey: rootKey, note: "what 'root_key' names can't be used yet: \(error.message)")
        }
    }

    private static func text(_ source: RootKeySource) -> String {
        if case .keyFile(let path) = source { path } else { source.kind.rawValue }
    }

    /// Reads a key. A key file that isn't there is made.
    private func key(of source: RootKeySource) throws(RingwakeError) -> RootKey {
        if case .keyFile(let path) = source, !FileSystem.exists(path) {
            var bytes = try SecureRandom.bytes(RootKey.byteCount)
            defer { SecretBytes.wipe(&bytes) }
            do throws(FileSystemError) {
                try FileSystem.replace(path, with: bytes, mode: 0o600)
            } catch {
                throw RingwakeError(
                    .system,
                    "the key file '\(path)' isn't there, and can't be made: \(error.reason); make it "
                        + "with 'head -c 32 /dev/urandom', readable for the daemon's user only")
            }
        }
        return try source.rootKey(credentialsDirectory: credentialsDirectory)
    }

    // MARK: - Off

    static let offReason = "'root_key' is \"off\""

    private func off(_ file: ProtectionFile?) -> Finding {
        let why = Self.offReason
        guard let file else { return .off(why, nil, nil) }
        guard !file.source.needsPerson else {
            return .off(
                "\(why); what was protected before needs its passphrase once: run 'ringwake protection unlock'", file,
                nil)
        }
        // At the start only: nothing waits yet, and the process has one thread.
        if file.source.kind == .tpm { TPM.prepare() }
        do throws(RingwakeError) {
            let rootKey = try file.source.rootKey(credentialsDirectory: credentialsDirectory)
            try file.verify(rootKey)
            return .off(why, file, rootKey)
        } catch {
            return .off("\(why), and what was protected before can't be read: \(error.message)", file, nil)
        }
    }
}
