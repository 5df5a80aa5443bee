package import Cryptography
internal import FileSystem
internal import Glibc
package import RingwakeCore

/// Where the root key comes from.
package enum RootKeySource: Hashable, Sendable {
    /// The file with this name in the directory of systemd's credentials ($CREDENTIALS_DIRECTORY).
    case credential(String)
    /// A file that only its owner can use, by its absolute path.
    case keyFile(String)
    /// A person. The salt and the parameters make the key from the passphrase.
    case passphrase(salt: [UInt8], ScryptParameters)
    /// A TPM, which opens this.
    case tpm(TPMSealedKey)

    /// The kinds of sources.
    package enum Kind: String, Sendable, CaseIterable {
        case credential
        case keyFile = "key-file"
        case passphrase
        case tpm
    }

    package var kind: Kind {
        switch self {
        case .credential: .credential
        case .keyFile: .keyFile
        case .passphrase: .passphrase
        case .tpm: .tpm
        }
    }

    /// Whether the key is there only after a person has entered something.
    package var needsPerson: Bool { kind == .passphrase }

    /// The sizes of a salt, in bytes.
    static let saltBytes = 16...64
    /// The longest name of a file (NAME_MAX).
    private static let maximumNameBytes = 255

    /// A new source for a passphrase, with a salt of its own.
    package static func newPassphrase(_ parameters: ScryptParameters = .standard) throws(RingwakeError) -> RootKeySource
    {
        .passphrase(salt: try SecureRandom.bytes(saltBytes.lowerBound), parameters)
    }

    /// A new root key that only this machine's TPM can open, and its source. It takes up to a second.
    ///
    /// - Throws: as ``TPM/seal(_:)``.
    package static func newTPM() throws(RingwakeError) -> (source: RootKeySource, rootKey: RootKey) {
        let rootKey = try RootKey.random()
        return (.tpm(try TPM.seal(rootKey.bytes)), rootKey)
    }

    /// The root key, from a source that needs no person.
    ///
    /// - Parameter credentialsDirectory: the value of $CREDENTIALS_DIRECTORY; nil if it isn't set.
    /// - Throws: `notFound` for a missing credential or file; `notPermitted` for one that this user may not read;
    ///   `badCredential` for one that others may use, or that is no key; `locked` for a passphrase; `system`; and as
    ///   ``TPM/open(_:)``.
    package func rootKey(credentialsDirectory: String?) throws(RingwakeError) -> RootKey {
        switch self {
        case .credential(let name): return try Self.readCredential(name, in: credentialsDirectory)
        case .keyFile(let path): return try Self.readKeyFile(path)
        case .tpm(let sealed): return try RootKey(bytes: TPM.open(sealed))
        case .passphrase:
            throw RingwakeError(
                .locked, "the keys of the protected data need the passphrase; enter it to unlock the device")
        }
    }

    private static func readCredential(_ name: String, in directory: String?) throws(RingwakeError) -> RootKey {
        guard isFileName(name) else {
            throw RingwakeError(
                .badConfiguration, "'\(name)' is no name of a credential; name it as LoadCredential= in the unit does")
        }
        guard let directory, !directory.isEmpty else {
            throw RingwakeError(
                .notFound,
                "there is no credential '\(name)': systemd has passed none ($CREDENTIALS_DIRECTORY isn't set); add "
                    + "'LoadCredential=\(name):FILE' to the unit, and start it again")
        }
        // systemd sets its mode, for the user of the unit. With an access control list it looks open to a group.
        let (bytes, _) = try read("\(directory)/\(name)", "the credential '\(name)'") {
            "add 'LoadCredential=\(name):FILE' to the unit, and start it again"
        }
        return try RootKey(content: bytes, of: "the credential '\(name)'")
    }

    private static func readKeyFile(_ path: String) throws(RingwakeError) -> RootKey {
        guard path.hasPrefix("/") else {
            throw RingwakeError(.badConfiguration, "the key file '\(path)' isn't an absolute path; give one with '/'")
        }
        let (bytes, attributes) = try read(path, "the key file '\(path)'") {
            "put the key there, or restore it from where it is kept"
        }
        guard attributes.owner == geteuid() || attributes.owner == 0 else {
            throw RingwakeError(
                .badCredential,
                "the key file '\(path)' belongs to the user \(attributes.owner), who can read the protected data with it; "
                    + "change its owner with chown, to the user of this program or to root")
        }
        guard attributes.mode & 0o077 == 0 else {
            throw RingwakeError(
                .badCredential,
                "the key file '\(path)' has mode 0\(String(attributes.mode, radix: 8)), so others than its owner may use it; "
                    + "run 'chmod 600 \(path)', and change the key if somebody may have read it")
        }
        return try RootKey(content: bytes, of: "the key file '\(path)'")
    }

    private static func read(
        _ path: String, _ name: String, ifMissing advice: () -> String
    ) throws(RingwakeError) -> (SecretBytes, FileAttributes) {
        do throws(FileSystemError) {
            var (bytes, attributes) = try FileSystem.readWithAttributes(
                path, maximumSize: RootKey.contentBytes.upperBound)
            return (SecretBytes(wiping: &bytes), attributes)
        } catch {
            if error.isMissing { throw RingwakeError(.notFound, "\(name) doesn't exist; \(advice())") }
            if error.isDenied {
                throw RingwakeError(
                    .notPermitted, "\(name) can't be read (\(error.reason)); make the user of this program its owner")
            }
            if error.errno == EFBIG || error.errno == EINVAL || error.errno == EISDIR {
                throw RingwakeError(
                    .badCredential,
                    "\(name) is no regular file of \(RootKey.contentBytes.lowerBound) to "
                        + "\(RootKey.contentBytes.upperBound) bytes; make one with 'head -c 32 /dev/urandom'")
            }
            throw RingwakeError(.system, "\(name) can't be read: \(error.reason); check the disk")
        }
    }

    static func isFileName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= maximumNameBytes && name != "." && name != ".."
            && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }

    /// What a wrong root key means, and what to do: a clause for a message.
    var whenWrong: String {
        switch self {
        case .credential(let name):
            "the credential '\(name)' is another key than that of the protected data; pass the former one again"
        case .keyFile(let path):
            "the key file '\(path)' has another key than that of the protected data; put the former one back"
        case .passphrase: "the passphrase is wrong; try again"
        case .tpm: "the TPM opens another key than that of the protected data; restore protection.json from a backup"
        }
    }
}
