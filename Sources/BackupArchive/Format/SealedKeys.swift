internal import Cryptography
internal import FoundationEssentials
internal import RingwakeCore

/// The member `keys.sealed`: private keys under a passphrase.
///
/// A line of JSON says how the key is derived. AES-256-GCM of JSON with the files follows, whose additional data are this line
/// and the digest of the manifest: the keys can't be moved to another backup.
enum SealedKeys {
    /// Maximum size of the member, in bytes.
    static let maximumBytes = 16 << 20
    /// Maximum of all keys: base64 makes them longer by a third.
    static let maximumKeyBytes = 8 << 20
    private static let saltBytes = 16
    private static let maximumHeadingBytes = 4096

    /// One key.
    struct File: Codable, Equatable {
        let name: MemberName
        let mode: FileMode
        let origin: String?
        let contents: Data
    }

    private struct Heading: Codable {
        let kdf: String
        let n: Int
        let r: Int
        let p: Int
        let salt: Data
        let cipher: String
        let nonce: Data

        static let kdf = "scrypt"
        static let cipher = "aes-256-gcm"
    }

    private struct Contents: Codable {
        let keys: [File]
    }

    static func seal(
        _ files: [File], _ passphrase: Passphrase, for digest: [UInt8], cost: ScryptParameters
    ) throws(RingwakeError) -> [UInt8] {
        let (salt, nonce) = (try SecureRandom.bytes(saltBytes), try SecureRandom.bytes(AESGCM.nonceBytes))
        let heading = Heading(
            kdf: Heading.kdf, n: cost.n, r: cost.r, p: cost.p, salt: Data(salt), cipher: Heading.cipher,
            nonce: Data(nonce))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(heading), let contents = try? encoder.encode(Contents(keys: files)) else {
            throw RingwakeError(.failed, "the keys could not be written as JSON; leave them out")
        }
        var (key, plaintext) = (try passphrase.key(salt: salt, cost, count: AESGCM.longKeyBytes), Array(contents))
        defer {
            SecretBytes.wipe(&key)
            SecretBytes.wipe(&plaintext)
        }
        let start = Array(line) + [UInt8(ascii: "\n")]
        let sealed = try AESGCM.seal(plaintext, key: key, nonce: nonce, additionalData: start + digest)
        guard start.count + sealed.count <= maximumBytes else {
            throw RingwakeError(.limitReached, "the keys have more than \(maximumKeyBytes >> 20) MB; leave them out")
        }
        return start + sealed
    }

    /// - Throws: `badCredential` for a wrong passphrase, and for keys of another backup: these can't be told apart.
    static func open(
        _ bytes: [UInt8], _ passphrase: Passphrase, for digest: [UInt8], of archive: String
    ) throws(RingwakeError) -> [File] {
        guard let end = bytes.prefix(maximumHeadingBytes).firstIndex(of: UInt8(ascii: "\n")),
            let heading = try? JSONDecoder().decode(Heading.self, from: Data(bytes[..<end])),
            heading.kdf == Heading.kdf, heading.cipher == Heading.cipher, heading.nonce.count == AESGCM.nonceBytes
        else { throw .damagedBackup(archive, "its keys are sealed in a way that this program doesn't know") }
        guard let cost = ScryptParameters(n: heading.n, r: heading.r, p: heading.p) else {
            throw RingwakeError(
                .limitReached,
                "\(archive) has keys that need more memory or time than this program allows (scrypt with n "
                    + "\(heading.n), r \(heading.r), p \(heading.p)); restore it without the keys")
        }
        var key = try passphrase.key(salt: Array(heading.salt), cost, count: AESGCM.longKeyBytes)
        defer { SecretBytes.wipe(&key) }
        guard
            var plaintext = try AESGCM.open(
                bytes[(end + 1)...], key: key, nonce: Array(heading.nonce), additionalData: bytes[...end] + digest)
        else {
            throw RingwakeError(
                .badCredential,
                "the passphrase is not that of the keys in \(archive), or these are of another backup; nothing was "
                    + "unpacked. Try again, or restore it without the keys")
        }
        defer { SecretBytes.wipe(&plaintext) }
        guard let contents = try? JSONDecoder().decode(Contents.self, from: Data(plaintext)) else {
            throw .damagedBackup(archive, "its keys are written in a way that this program doesn't know")
        }
        return contents.keys
    }
}
