package import Cryptography
internal import FoundationEssentials
package import RingwakeCore

/// Writes a backup: one file, tar with zstd, that is there as a whole or not at all.
///
///     let manifest = try ArchiveWriter.write(
///         "/var/backups/\(BackupName(now))", description, [store, configuration], keys: .sealed(keys, passphrase),
///         progress: { done, all in !isInterrupted })
///
/// The file is made as `NAME.partial` (0600) and renamed when it is on the disk. A writer that is killed leaves at most that,
/// which ``PartialFile/removeAll(in:)`` removes.
package enum ArchiveWriter {
    /// A file to back up.
    package struct Source {
        package let name: MemberName
        package let path: String
        /// The absolute path to restore it to; nil for a file of the state directory.
        package let origin: String?
        /// Who has to own the file; nil: anybody. In a folder of another user, that user decides what a name stands for.
        package let owner: UInt32?
        /// SHA-256 in hex of what has to be in it; nil: whatever is.
        fileprivate var sha256: String?

        package init(_ name: MemberName, path: String, origin: String? = nil, owner: UInt32? = nil) {
            self.name = name
            self.path = path
            self.origin = origin
            self.owner = owner
        }

        /// The same file with what is in it now: if that changes, there is no backup.
        package func unchanged() throws(RingwakeError) -> Source {
            var meter = Meter(all: 0) { _, _ in true }
            var fixed = self
            fixed.sha256 = try ArchiveWriter.describe(self, &meter).sha256
            return fixed
        }
    }

    /// What becomes of private keys.
    package enum Keys {
        /// There are none.
        case none
        /// They aren't backed up.
        case leftOut
        /// They are encrypted.
        case sealed([Source], Passphrase)
    }

    /// Writes a backup. If it throws, nothing was changed.
    ///
    /// - Parameters:
    ///   - target: doesn't exist yet; its directory does.
    ///   - description: without members.
    ///   - sources: with different names; links are followed.
    ///   - cost: of the passphrase's key. Only a test chooses another one.
    ///   - progress: counts bytes that were read: each file is read twice.
    /// - Returns: the manifest as it is in the backup.
    /// - Throws: `notFound` for nothing to back up, and for a file or a directory that isn't there; `conflict` for a target that
    ///   exists, and for a file that changes meanwhile; `inUse` for a target that another process writes; `notPermitted`,
    ///   `system` (among them no room), `limitReached`, `failed` (among them cancelled).
    package static func write(
        _ target: String, _ description: BackupManifest, _ sources: [Source], keys: Keys,
        cost: ScryptParameters = .standard, progress: @escaping ArchiveProgress = { _, _ in true }
    ) throws(RingwakeError) -> BackupManifest {
        guard !sources.isEmpty else {
            throw RingwakeError(.notFound, "there is nothing to back up; name a state directory with a store")
        }
        let library = try ArchiveLibrary.loaded.get()
        let partial = try PartialFile(for: target)
        var meter = Meter(all: try 2 * SourceFile.totalBytes(of: sources.map(\.path)), progress)
        var manifest = description
        for source in sources { manifest.members.append(try describe(source, &meter)) }
        let packed = zip(sources, manifest.members)
        let sealed = try seal(keys, &manifest, cost)
        let tar = try TarWriter(library, partial.file, target: target)
        let now = manifest.created.secondsSince1970
        let encoded = try manifest.encoded()
        try tar.add(.manifest, encoded, modified: now)
        try tar.add(.manifestDigest, BackupManifest.digestText(of: encoded), modified: now)
        if let sealed { try tar.add(.sealedKeys, sealed, modified: now) }
        for (source, member) in packed { try pack(source, member, into: tar, of: partial, &meter) }
        try tar.close()
        try partial.commit()
        return manifest
    }

    private static func describe(
        _ source: Source, _ meter: inout Meter
    ) throws(RingwakeError) -> BackupManifest.Member {
        let file = try SourceFile(source.path, owner: source.owner)
        let digest = try SHA256.Running()
        while let bytes = try file.next() {
            digest.add(bytes)
            try meter.add(bytes.count)
        }
        let sha256 = encodeHex(digest.finish())
        guard source.sha256 == nil || source.sha256 == sha256 else { throw .changedSource(source.path) }
        return BackupManifest.Member(
            name: source.name, bytes: file.bytes, sha256: sha256, mode: file.mode, origin: source.origin)
    }

    /// Writes what the manifest says, or throws: the file is another one if it was replaced.
    private static func pack(
        _ source: Source, _ member: BackupManifest.Member, into tar: TarWriter, of partial: PartialFile,
        _ meter: inout Meter
    ) throws(RingwakeError) {
        let file = try SourceFile(source.path, owner: source.owner)
        guard file.bytes == member.bytes else { throw .changedSource(source.path) }
        let digest = try SHA256.Running()
        try tar.begin(member.name, bytes: member.bytes, mode: member.mode, modified: file.modified)
        while let bytes = try file.next() {
            digest.add(bytes)
            try tar.write(bytes)
            try partial.writeBack()
            try meter.add(bytes.count)
        }
        guard encodeHex(digest.finish()) == member.sha256 else { throw .changedSource(source.path) }
    }

    /// The member with the keys, which this adds to the manifest.
    private static func seal(
        _ keys: Keys, _ manifest: inout BackupManifest, _ cost: ScryptParameters
    ) throws(RingwakeError) -> [UInt8]? {
        switch keys {
        case .none: manifest.keys = .none
        case .leftOut: manifest.keys = .leftOut
        case .sealed(let keys, let passphrase):
            let digest = manifest.digestWithoutKeys
            let sealed = try SealedKeys.seal(try read(keys), passphrase, for: digest, cost: cost)
            manifest.keys = .encrypted
            manifest.members.insert(
                BackupManifest.Member(
                    name: .sealedKeys, bytes: Int64(sealed.count), sha256: encodeHex(SHA256.digest(sealed)),
                    mode: FileMode(0o600), origin: nil), at: 0)
            return sealed
        }
        return nil
    }

    private static func read(_ keys: [Source]) throws(RingwakeError) -> [SealedKeys.File] {
        var files: [SealedKeys.File] = []
        var rest = SealedKeys.maximumKeyBytes
        for key in keys {
            let file = try SourceFile(key.path, owner: key.owner)
            var contents: [UInt8] = []
            while let bytes = try file.next() {
                guard bytes.count <= rest else {
                    throw RingwakeError(
                        .limitReached,
                        "\(key.path) is too large for a key: all keys together have at most "
                            + "\(SealedKeys.maximumKeyBytes >> 20) MB; leave it out")
                }
                rest -= bytes.count
                contents += bytes
            }
            files.append(.init(name: key.name, mode: file.mode, origin: key.origin, contents: Data(contents)))
        }
        return files
    }
}
