internal import Cryptography
internal import FoundationEssentials
internal import RingwakeCore

/// The first member of a backup, `manifest.json`: what the backup is of, and the others with their checksums, in their order.
package struct BackupManifest: Codable, Equatable, Sendable {
    /// The version that this program writes, and the newest that it reads.
    package static let newestVersion = 1
    private static let format = "ringwake-backup"
    /// Limits against manifests that were made to use up memory. A gateway's state has fewer than a hundred files.
    static let maximumBytes = 4 << 20
    static let maximumMembers = 10_000
    /// Larger than any disk here, and small enough that sums don't overflow.
    private static let maximumMemberBytes: Int64 = 1 << 46

    /// What the records are.
    package enum Kind: String, Codable, Sendable {
        /// The store as it is, for this program's versions.
        case raw
        /// Records that later versions read too.
        case portable
    }

    /// What became of private keys.
    package enum Keys: String, Codable, Sendable {
        /// They are in the member `keys.sealed`.
        case encrypted
        /// They were not backed up.
        case leftOut = "left-out"
        /// There were none.
        case none
    }

    /// The store at the time of the backup.
    package struct Store: Codable, Equatable, Sendable {
        package let version: Int
        package let bytes: Int64

        package init(version: Int, bytes: Int64) {
            self.version = version
            self.bytes = bytes
        }
    }

    /// One file.
    package struct Member: Codable, Equatable, Sendable {
        package let name: MemberName
        package let bytes: Int64
        /// In hexadecimal.
        package let sha256: String
        package let mode: FileMode
        /// The absolute path that it was read from; nil for a file of the state directory.
        package let origin: String?
    }

    private let format: String
    package let version: Int
    package let created: BackupTime
    /// The version of the program that made it.
    package let program: String
    /// The name of the machine.
    package let host: String
    /// The device or gateway that it is of.
    package let device: String?
    package let kind: Kind
    package let store: Store
    /// The writer fills this in, and ``members``.
    package internal(set) var keys = Keys.none
    package internal(set) var members: [Member] = []

    package init(created: BackupTime, program: String, host: String, device: String?, kind: Kind, store: Store) {
        format = Self.format
        version = Self.newestVersion
        self.created = created
        self.program = program
        self.host = host
        self.device = device
        self.kind = kind
        self.store = store
    }

    /// The bytes of all members.
    package var totalBytes: Int64 { members.reduce(0) { $0 + $1.bytes } }

    /// What the keys are sealed for: of another backup they can't be opened.
    var digestWithoutKeys: [UInt8] {
        var text = "\(created)\n\(kind.rawValue)\n\(device ?? "")\n"
        for member in members where member.name != .sealedKeys {
            text += "\(member.name)\n\(member.bytes)\n\(member.sha256)\n\(member.mode.bits)\n\(member.origin ?? "")\n"
        }
        return SHA256.digest(Array(text.utf8))
    }

    /// The contents of the member that follows the manifest.
    static func digestText(of encoded: [UInt8]) -> [UInt8] {
        Array("\(encodeHex(SHA256.digest(encoded)))  \(MemberName.manifest)\n".utf8)
    }

    func encoded() throws(RingwakeError) -> [UInt8] {
        if let problem { throw RingwakeError(.invalidRequest, "there can be no such backup: \(problem); change that") }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self), data.count < Self.maximumBytes
        else {
            throw RingwakeError(
                .limitReached,
                "the manifest of a backup has at most \(Self.maximumBytes >> 20) MB, and \(members.count) files with such "
                    + "names need more; back up fewer")
        }
        return Array(data) + [UInt8(ascii: "\n")]
    }

    // MARK: - Reading

    /// Reads the manifest of `archive`, which is a path for messages. Unknown keys are ignored: a later version of this
    /// format adds keys, and raises its number when an older program can't read it.
    init(_ bytes: [UInt8], of archive: String) throws(RingwakeError) {
        struct Heading: Decodable {
            let format: String
            let version: Int
        }
        let data = Data(bytes)
        guard let heading = try? JSONDecoder().decode(Heading.self, from: data), heading.format == Self.format else {
            throw .damagedBackup(archive, "its manifest is not of a backup of Ringwake")
        }
        guard (1...Self.newestVersion).contains(heading.version) else {
            throw RingwakeError(
                .failed,
                "\(archive) has version \(heading.version) of the backup format, and this program reads up to version "
                    + "\(Self.newestVersion); read it with a newer Ringwake")
        }
        do {
            self = try JSONDecoder().decode(BackupManifest.self, from: data)
        } catch {
            throw .damagedBackup(archive, "its manifest cannot be read (\(Self.reason(error)))")
        }
        if let problem { throw .damagedBackup(archive, "its manifest is wrong: \(problem)") }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context):
            let path = context.codingPath.map { $0.intValue.map { String($0) } ?? $0.stringValue }
            return MemberName.shown(path.joined(separator: ".")) + " has another form"
        case DecodingError.keyNotFound(let key, _): return MemberName.shown(key.stringValue) + " is missing"
        default: return "it is not JSON"
        }
    }

    /// What no writer makes.
    private var problem: String? {
        guard members.count <= Self.maximumMembers else { return "it has more than \(Self.maximumMembers) members" }
        guard store.bytes >= 0 else { return "the store has \(store.bytes) bytes" }
        var names: Set<MemberName> = [.manifest, .manifestDigest]
        for member in members {
            guard names.insert(member.name).inserted else { return "\(member.name) occurs twice" }
            guard (0...Self.maximumMemberBytes).contains(member.bytes) else {
                return "\(member.name) has \(member.bytes) bytes"
            }
        }
        // The first, so that a wrong passphrase is found before anything is unpacked.
        guard (keys == .encrypted) == (members.first?.name == .sealedKeys) else {
            return "it has keys that aren't the first member, or has none where it says so"
        }
        guard keys == .encrypted || !names.contains(.sealedKeys) else { return "it has keys that it doesn't name" }
        return nil
    }
}
