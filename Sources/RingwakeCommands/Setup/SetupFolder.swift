import FileSystem
import Glibc
import RingwakeCore
import VoIPCertificates

/// The folder of a configuration, with the owners that its daemon needs.
///
/// A user's files belong to the user alone. The system's belong to root, who writes them, and to the group of the
/// daemon's user, who reads them: `sysusers.d/ringwake.conf` makes that group.
struct SetupFolder {
    private static let group = "ringwake"
    private static let parts = ["certs", "apps.d", "teams.d"]

    let path: String
    private let isStandard: Bool
    /// Owner, group and mode of the folders.
    private let attributes: FileAttributes

    /// - Parameter isStandard: whether it is the folder of the system's or the user's daemon, which nobody chose.
    /// - Throws: `notFound` if the system's daemon has no user yet.
    init(_ path: String, isStandard: Bool) throws(RingwakeError) {
        self.path = path
        self.isStandard = isStandard
        guard geteuid() == 0 else {
            attributes = FileAttributes(owner: geteuid(), group: getegid(), mode: 0o700)
            return
        }
        var group: UInt32 = 0
        if FileSystem.exists(path) {
            group = try withFiles { () throws(FileSystemError) in try FileSystem.attributes(of: path).group }
        }
        if group == 0, isStandard {
            guard let entry = getgrnam(SetupFolder.group) else {
                throw RingwakeError(
                    .notFound,
                    "there is no group '\(SetupFolder.group)', whose user runs the system's daemon; install the package, or "
                        + "copy deploy/sysusers.d/ringwake.conf to /usr/lib/sysusers.d and run 'systemd-sysusers'. For a "
                        + "daemon of your own run this without sudo")
            }
            group = entry.pointee.gr_gid
        }
        attributes = FileAttributes(owner: 0, group: group, mode: group == 0 ? 0o700 : 0o750)
    }

    /// Whether the daemon is another user than root, in whose group the files are.
    private var isShared: Bool { attributes.mode == 0o750 }

    /// Where a new configuration keeps its state: in its own folder, if it is neither the system's nor the user's.
    var stateLines: [String] {
        isStandard || isShared ? [] : ["state_directory = \"state\"", "runtime_directory = \"run\"", ""]
    }

    /// Makes the folder and those in it; present ones stay as they are.
    func make() throws(RingwakeError) {
        try TrustedDirectory.require(path)
        try withFiles { () throws(FileSystemError) in
            for folder in [path] + SetupFolder.parts.map({ "\(path)/\($0)" }) where !FileSystem.exists(folder) {
                try FileSystem.createDirectory(folder, mode: 0o700)
                try FileSystem.setAttributes(attributes, of: folder)
            }
        }
    }

    /// Lets the daemon read its key, also if an earlier version made the folder for root alone.
    func share(_ made: DevelopmentCredentials) throws(RingwakeError) {
        guard isShared, let key = made.path(of: .serverKey) else { return }
        try TrustedDirectory.require(made.directory)
        try withFiles { () throws(FileSystemError) in
            try FileSystem.setAttributes(attributes, of: made.directory)
            try FileSystem.setAttributes(file(isPrivate: true), of: key)
        }
    }

    /// Writes a file of the configuration; a private one is for its owner and the daemon.
    func write(_ text: String, to name: String, isPrivate: Bool) throws(RingwakeError) {
        try TrustedDirectory.require(FileSystem.split("\(path)/\(name)").directory)
        try withFiles { () throws(FileSystemError) in
            try FileSystem.replace("\(path)/\(name)", with: Array(text.utf8), attributes: file(isPrivate: isPrivate))
        }
    }

    private func file(isPrivate: Bool) -> FileAttributes {
        FileAttributes(
            owner: attributes.owner, group: attributes.group, mode: !isPrivate ? 0o644 : isShared ? 0o640 : 0o600)
    }
}
