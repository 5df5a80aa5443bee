package import Cryptography
internal import FileSystem
internal import FoundationEssentials
internal import Glibc
package import RingwakeCore

/// Reads a backup, which may come from anybody: every size is limited by the manifest, and nothing is written outside the
/// directory that it is unpacked into.
package struct ArchiveReader {
    /// Disk that must be left beside what is unpacked, in bytes: for folders and the file system's own needs.
    private static let spareDiskBytes: Int64 = 1 << 20
    /// What a tar has beside the bytes of its members: at the end, and for each member.
    private static let endBytes: Int64 = 1 << 20
    private static let memberOverheadBytes: Int64 = 8192

    /// The file of the backup.
    package let path: String

    /// Reads nothing yet.
    package init(_ path: String) {
        self.path = path
    }

    /// What the backup is of. Only the beginning is read.
    ///
    /// - Throws: `notFound` for no such file, `notPermitted`, `failed` for a file that is no backup, or damaged or of a newer
    ///   version.
    package func manifest() throws(RingwakeError) -> BackupManifest {
        let file = try open()
        return try readManifest(from: try reader(of: file))
    }

    /// Reads the whole backup and compares it with its manifest.
    ///
    /// - Parameter passphrase: nil checks the keys' checksum, but not whether they can be opened.
    /// - Throws: as ``manifest()``, and `badCredential` for a wrong passphrase.
    @discardableResult
    package func verify(
        passphrase: Passphrase? = nil, progress: @escaping ArchiveProgress = { _, _ in true }
    ) throws(RingwakeError) -> BackupManifest {
        try read(passphrase, into: nil, progress).manifest
    }

    /// A backup that was unpacked.
    package struct Unpacked {
        package let manifest: BackupManifest
        /// The private keys; empty if there were none, or no passphrase. Their files are beside the others.
        package let keys: [Key]
    }

    /// A private key that was unpacked.
    package struct Key: Equatable {
        package let name: MemberName
        package let mode: FileMode
        /// The absolute path that it was read from; nil for a file of the state directory.
        package let origin: String?
    }

    /// Unpacks the backup into a new directory (0700): each member, and each key, by its name. When this returns, all of it was
    /// compared with the manifest and is on the disk. If it throws, there is no such directory.
    ///
    /// - Parameters:
    ///   - directory: doesn't exist yet; its parent does.
    ///   - passphrase: nil leaves the keys out.
    /// - Throws: as ``verify(passphrase:progress:)``; `conflict` for a directory that exists; `notPermitted`; `system` if it
    ///   can't be written, or has no room.
    package func unpack(
        into directory: String, passphrase: Passphrase?, progress: @escaping ArchiveProgress = { _, _ in true }
    ) throws(RingwakeError) -> Unpacked {
        try read(passphrase, into: directory, progress)
    }

    // MARK: - Reading

    private func read(
        _ passphrase: Passphrase?, into directory: String?, _ progress: @escaping ArchiveProgress
    ) throws(RingwakeError) -> Unpacked {
        let file = try open()
        let tar = try reader(of: file)
        let manifest = try readManifest(from: tar)
        var meter = Meter(all: manifest.totalBytes, progress)
        var rest = manifest.members[...]
        var keys: [SealedKeys.File] = []
        if manifest.keys == .encrypted, let member = rest.popFirst() {
            let sealed = try readSealedKeys(member, from: tar, &meter)
            if let passphrase {
                keys = try SealedKeys.open(sealed, passphrase, for: manifest.digestWithoutKeys, of: path)
            }
        }
        let target = try directory.map { path throws(RingwakeError) in
            try makeDirectory(path, for: manifest, keys)
        }
        do throws(RingwakeError) {
            for member in rest { try copy(member, from: tar, into: target, &meter) }
            if let entry = try tar.next() { throw unexpected(entry, "the end") }
            try tar.finish()
            if let target { try write(keys, into: target) }
        } catch {
            target?.remove()
            throw error
        }
        return Unpacked(
            manifest: manifest, keys: keys.map { Key(name: $0.name, mode: $0.mode, origin: $0.origin) })
    }

    private func open() throws(RingwakeError) -> OpenFile {
        guard let file = OpenFile(path, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) else {
            let error = FileSystemError(operation: "open", path: path, errno: errno)
            if error.isMissing { throw RingwakeError(.notFound, "there is no backup \(path); name an existing file") }
            throw RingwakeError(
                error.isDenied ? .notPermitted : .system, "\(error); run it as a user who may read the backup")
        }
        guard file.status != nil else {
            throw RingwakeError(.invalidRequest, "\(path) is not a file; name the file of a backup")
        }
        var start = [UInt8](repeating: 0, count: PartialFile.magic.count)
        guard start.withUnsafeMutableBytes({ file.read(into: $0) }) == start.count, start == PartialFile.magic,
            lseek(file.number, 0, SEEK_SET) == 0
        else { throw .damagedBackup(path, "it does not begin like a backup") }
        return file
    }

    private func reader(of file: OpenFile) throws(RingwakeError) -> TarReader {
        try TarReader(
            try ArchiveLibrary.loaded.get(), file, path: path,
            limit: Int64(BackupManifest.maximumBytes) + Self.endBytes)
    }

    private func readManifest(from tar: TarReader) throws(RingwakeError) -> BackupManifest {
        guard let entry = try tar.next(), entry.name == MemberName.manifest.description, entry.isRegular,
            let bytes = entry.bytes, bytes <= Int64(BackupManifest.maximumBytes)
        else { throw .damagedBackup(path, "it does not begin with a manifest") }
        var contents: [UInt8] = []
        while let block = try tar.read() { contents += block }
        // Before the checksum: a newer version may have another.
        let manifest = try BackupManifest(contents, of: path)
        var digest: [UInt8] = []
        guard let entry = try tar.next(), entry.name == MemberName.manifestDigest.description, entry.isRegular,
            entry.bytes == Int64(BackupManifest.digestText(of: []).count)
        else { throw .damagedBackup(path, "its manifest has no checksum") }
        while let block = try tar.read() { digest += block }
        guard digest == BackupManifest.digestText(of: contents) else {
            throw .damagedBackup(path, "its manifest has another checksum")
        }
        tar.limit =
            bytes + manifest.totalBytes + Int64(manifest.members.count + 2) * Self.memberOverheadBytes + Self.endBytes
        return manifest
    }

    private func readSealedKeys(
        _ member: BackupManifest.Member, from tar: TarReader, _ meter: inout Meter
    ) throws(RingwakeError) -> [UInt8] {
        guard member.bytes <= Int64(SealedKeys.maximumBytes) else {
            throw .damagedBackup(path, "its keys have \(member.bytes) bytes")
        }
        var sealed: [UInt8] = []
        try read(member, from: tar, &meter) { sealed += $0 }
        return sealed
    }

    private func copy(
        _ member: BackupManifest.Member, from tar: TarReader, into target: ExtractionDirectory?, _ meter: inout Meter
    ) throws(RingwakeError) {
        let file = try target.map { target throws(RingwakeError) in try target.create(member.name) }
        try read(member, from: tar, &meter) { bytes throws(RingwakeError) in
            guard let file, let target, !file.write(bytes) else { return }
            throw .unwritable("\(target.path)/\(member.name)", errno)
        }
        if let file, let target { try target.finish(file, member.name, mode: member.mode) }
    }

    /// Passes the bytes of the next member on, and compares all with the manifest.
    private func read(
        _ member: BackupManifest.Member, from tar: TarReader, _ meter: inout Meter,
        _ body: (UnsafeRawBufferPointer) throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        guard let entry = try tar.next() else { throw .damagedBackup(path, "\(member.name) is missing") }
        guard entry.name == member.name.description else { throw unexpected(entry, "\(member.name)") }
        guard entry.isRegular else { throw .damagedBackup(path, "\(member.name) is a link or no file") }
        guard entry.bytes == member.bytes else { throw .damagedBackup(path, "\(member.name) has another size") }
        let digest = try SHA256.Running()
        var rest = member.bytes
        while let bytes = try tar.read() {
            rest -= Int64(bytes.count)
            guard rest >= 0 else { break }
            digest.add(bytes)
            try body(bytes)
            try meter.add(bytes.count)
        }
        guard rest == 0, encodeHex(digest.finish()) == member.sha256 else {
            throw .damagedBackup(path, "\(member.name) has another checksum")
        }
    }

    private func unexpected(_ entry: TarReader.Entry, _ expected: String) -> RingwakeError {
        .damagedBackup(
            path, "it has \(MemberName.shown(entry.name ?? "")) where \(expected) should be")
    }

    // MARK: - Unpacking

    private func makeDirectory(
        _ directory: String, for manifest: BackupManifest, _ keys: [SealedKeys.File]
    ) throws(RingwakeError) -> ExtractionDirectory {
        let needed = manifest.totalBytes + Self.spareDiskBytes
        let free = FileSystem.freeBytes(of: FileSystem.split(directory).directory)
        if let free, free < needed {
            throw RingwakeError(
                .system,
                "\(directory) has no room: unpacking needs \(needed) bytes, and \(free) are free; free some, or choose "
                    + "another disk. Nothing was changed")
        }
        return try ExtractionDirectory(creating: directory)
    }

    private func write(_ keys: [SealedKeys.File], into target: ExtractionDirectory) throws(RingwakeError) {
        for key in keys {
            let file = try target.create(key.name)
            guard key.contents.withUnsafeBytes({ file.write($0) }) else {
                throw .unwritable("\(target.path)/\(key.name)", errno)
            }
            try target.finish(file, key.name, mode: key.mode)
        }
        try target.synchronize()
    }
}
