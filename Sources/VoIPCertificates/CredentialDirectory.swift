import FileSystem
import Glibc
import RingwakeCore

/// The directory of a development CA: checks, reads and writes its files.
struct CredentialDirectory {
    /// Maximum bytes of a file in it.
    private static let maximumFileBytes = 1024 * 1024
    private static let directoryMode: UInt32 = 0o700
    private static let secretMode: UInt32 = 0o600
    private static let publicMode: UInt32 = 0o644
    private static let sharedMode: UInt32 = 0o640
    /// The mode of a folder that a daemon of another user reads, as `/etc/ringwake/certs` has it.
    private static let sharedDirectoryMode: UInt32 = 0o750

    /// One file that belongs there.
    struct Entry {
        let kind: DevelopmentCredentials.Kind
        let name: String
    }

    let path: String

    /// Creates the directory, with mode 0700, if it is missing.
    init(path: String) throws(RingwakeError) {
        self.path = path
        try TrustedDirectory.require(path)
        do throws(FileSystemError) {
            try FileSystem.createDirectory(path, mode: Self.directoryMode)
        } catch {
            throw RingwakeError(
                Self.code(of: error),
                "The directory \(path) cannot be made: \(error.reason); choose one that you may write in.")
        }
    }

    /// Opens an existing directory.
    init(existing path: String) throws(RingwakeError) {
        self.path = path
        do throws(RingwakeError) {
            _ = try names()
        } catch {
            guard error.code == .notFound else { throw error }
            throw RingwakeError(
                .notFound, "There is no directory \(path); name the one of 'ringwake certs dev-ca' with --directory.")
        }
    }

    func path(of entry: Entry) -> String {
        path.hasSuffix("/") ? path + entry.name : "\(path)/\(entry.name)"
    }

    /// Whether `entries`, which belong together, exist.
    ///
    /// - Throws: `conflict` if only some exist: they may be the remains of something that is still needed.
    func has(_ entries: [Entry]) throws(RingwakeError) -> Bool {
        let present = entries.filter { FileSystem.exists(path(of: $0)) }
        if present.isEmpty || present.count == entries.count { return !present.isEmpty }
        let missing = entries.filter { entry in !present.contains { $0.name == entry.name } }
        throw RingwakeError(
            .conflict,
            "\(path) has \(Self.list(present)) but not \(Self.list(missing)), and they belong together; "
                + "put back what is missing, or remove the rest so that all are made anew.")
    }

    func read(_ entry: Entry) throws(RingwakeError) -> [UInt8] {
        do throws(FileSystemError) {
            return try FileSystem.read(path(of: entry), maximumSize: Self.maximumFileBytes)
        } catch {
            throw RingwakeError(
                Self.code(of: error),
                "\(path(of: entry)) cannot be read: \(error.reason); check who owns it, or choose another directory.")
        }
    }

    /// Replaces a file, which keeps its owner, group and mode, or makes it.
    func write(_ bytes: [UInt8], to entry: Entry) throws(RingwakeError) {
        try write(bytes, to: entry) { () throws(FileSystemError) in
            let path = path(of: entry)
            return FileSystem.exists(path) ? try FileSystem.attributes(of: path) : try fresh(entry.kind)
        }
    }

    /// Makes a file with the attributes of a new one, also where one is.
    func make(_ entry: Entry, with bytes: [UInt8]) throws(RingwakeError) {
        try write(bytes, to: entry) { () throws(FileSystemError) in try fresh(entry.kind) }
    }

    private func write(
        _ bytes: [UInt8], to entry: Entry, as attributes: () throws(FileSystemError) -> FileAttributes
    ) throws(RingwakeError) {
        let path = path(of: entry)
        try TrustedDirectory.require(self.path)
        do throws(FileSystemError) {
            try FileSystem.replace(path, with: bytes, attributes: attributes())
        } catch {
            throw RingwakeError(
                Self.code(of: error),
                "\(path) cannot be written: \(error.reason); run as the owner of its folder or as root, or choose a "
                    + "directory that you may write in.")
        }
    }

    /// The attributes of a new file. Root shares the daemon's key with the group that may read the directory: the
    /// daemon runs as a user of that group.
    private func fresh(_ kind: DevelopmentCredentials.Kind) throws(FileSystemError) -> FileAttributes {
        var attributes = FileAttributes(
            owner: geteuid(), group: getegid(), mode: kind.isSecret ? Self.secretMode : Self.publicMode)
        guard geteuid() == 0 else { return attributes }
        let directory = try FileSystem.attributes(of: path)
        guard directory.mode == Self.sharedDirectoryMode, directory.group != 0 else { return attributes }
        attributes.group = directory.group
        if kind == .serverKey { attributes.mode = Self.sharedMode }
        return attributes
    }

    /// The names of all files in the directory.
    func names() throws(RingwakeError) -> [String] {
        do throws(FileSystemError) {
            return try FileSystem.entries(of: path)
        } catch {
            throw RingwakeError(
                Self.code(of: error),
                "The directory \(path) cannot be read: \(error.reason); run as its owner or as root, or choose another."
            )
        }
    }

    /// The exit status of `ringwake` says whether the user may not, or the path is wrong.
    private static func code(of error: FileSystemError) -> RingwakeError.Code {
        error.isDenied ? .notPermitted : error.isMissing ? .notFound : .system
    }

    private static func list(_ entries: [Entry]) -> String {
        entries.map(\.name).joined(separator: " and ")
    }
}
