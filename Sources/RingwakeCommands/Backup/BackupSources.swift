import BackupArchive
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore

/// What a backup has beside the store: the other files of the state directory, the configuration, and the files that it
/// names.
struct BackupSources {
    /// Keys of a device and of its link.
    private static let keySuffix = ".pem"
    /// Of folders in the state directory: it has `copies/apps`.
    private static let maximumDepth = 2

    private typealias NamedFile = ConfigurationMessage.NamedFile

    private(set) var files: [ArchiveWriter.Source] = []
    private(set) var keys: [ArchiveWriter.Source] = []
    /// Files that the configuration names and that aren't there.
    private(set) var missing: [String] = []
    /// Files in the state directory that belong to another user than the directory, and aren't backed up.
    private(set) var foreign: [String] = []
    /// The file of the keys of protected records, and its second copy.
    private let (protection, protectionCopy): (String, String)
    private let wasProtected: Bool

    /// Call it before the store is copied.
    ///
    /// - Parameter stateDirectory: the daemon's.
    /// - Throws: `notPermitted` if this user may not read one of them; `system`.
    init(_ configuration: ConfigurationMessage, stateDirectory: String) throws(RingwakeError) {
        let keys = DoubleFile(name: StateDirectory.protection, directory: stateDirectory, maximumSize: 0)
        (protection, protectionCopy) = (keys.path, keys.copyPath)
        wasProtected = FileSystem.exists(keys.path) || FileSystem.exists(keys.copyPath)
        try addState(stateDirectory)
        let directory = FileSystem.split(configuration.file).directory
        var named = [configuration.file]
        for folder in [configuration.file + ".d", configuration.appsDirectory, configuration.teamsDirectory] {
            named += try BackupSources.names(in: folder).filter { $0.hasSuffix(".toml") }.map { "\(folder)/\($0)" }
        }
        for path in named where path.hasPrefix(directory + "/") {
            add(path, "configuration/" + path.dropFirst(directory.utf8.count + 1))
        }
        let certificates = try Self.certificates(in: "\(directory)/certs")
        for file in certificates {
            add(file.path, "configuration/" + file.path.dropFirst(directory.utf8.count + 1), isKey: file.isSecret)
        }
        let added = Set(certificates.map(\.path))
        let elsewhere = named.filter { !$0.hasPrefix(directory + "/") }.map { NamedFile(path: $0, isSecret: false) }
        for (number, file) in (elsewhere + configuration.namedFiles).enumerated()
        where !added.contains(file.path) {
            guard FileSystem.exists(file.path) else {
                missing.append(file.path)
                continue
            }
            add(file.path, "files/\(number)-\(FileSystem.split(file.path).name)", isKey: file.isSecret)
        }
    }

    /// Call it when the store was copied.
    ///
    /// - Throws: `conflict` if the first keys of protected records were made meanwhile: the copy may have records that need
    ///   them.
    func requireFormerKeys() throws(RingwakeError) {
        guard wasProtected || !FileSystem.exists(protection) else { throw .changedSource(protection) }
    }

    /// The files that 'ringwake setup' and 'ringwake certs' make: also the CA's key and what senders have, which no setting
    /// names.
    private static func certificates(in folder: String) throws(RingwakeError) -> [NamedFile] {
        try names(in: folder).compactMap { name in
            let path = "\(folder)/\(name)"
            guard let bytes = try? FileSystem.read(path, maximumSize: InputFile.maximumBytes) else { return nil }
            let isSecret =
                [".p12", ".p8", ".key"].contains { name.hasSuffix($0) }
                || String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY")
            return NamedFile(path: path, isSecret: isSecret)
        }
    }

    private mutating func addState(_ directory: String) throws(RingwakeError) {
        var owner = stat()
        guard stat(directory, &owner) == 0 else {
            throw RingwakeError(.notFound, "there is no state directory \(directory): there is nothing to back up")
        }
        for name in try BackupSources.names(in: directory) where StateDirectory.isBackedUp(name) {
            try add(state: "\(directory)/\(name)", name, owner.st_uid)
        }
    }

    /// Adds a file, or the files of a folder.
    private mutating func add(
        state path: String, _ name: String, _ owner: UInt32, depth: Int = 0
    ) throws(RingwakeError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR, depth < BackupSources.maximumDepth {
            for inner in try BackupSources.names(in: path) {
                try add(state: "\(path)/\(inner)", "\(name)/\(inner)", owner, depth: depth + 1)
            }
        }
        guard status.st_mode & S_IFMT == S_IFREG, let member = MemberName("state/" + name) else { return }
        // An administrator's note, or a second name that the daemon's user gave to a file of root's.
        guard status.st_uid == owner else { return foreign.append(path) }
        var source = ArchiveWriter.Source(member, path: path, owner: owner)
        if path == protection || path == protectionCopy {
            // A copy of the store can be read with the keys that it was written with, and new ones may come meanwhile.
            source = try source.unchanged()
        }
        if name.hasSuffix(BackupSources.keySuffix) { keys.append(source) } else { files.append(source) }
    }

    private mutating func add(_ path: String, _ name: String, isKey: Bool = false) {
        // A name that doesn't fit is in the manifest as its origin.
        guard let member = MemberName(name) ?? MemberName("files/x\(files.count + keys.count)") else { return }
        let source = ArchiveWriter.Source(member, path: path, origin: path)
        if isKey { keys.append(source) } else { files.append(source) }
    }

    private static func names(in directory: String) throws(RingwakeError) -> [String] {
        guard FileSystem.exists(directory) else { return [] }
        return try withFiles { () throws(FileSystemError) in try FileSystem.entries(of: directory) }
    }
}
