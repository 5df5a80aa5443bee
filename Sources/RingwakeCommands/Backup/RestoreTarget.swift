import BackupArchive
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore
import RunLoop

/// The daemon that a backup is restored to, as it is before.
struct RestoreTarget {
    /// How long a daemon may take until it answers again: a merge adds all its records in the start.
    private static let restartTimeout = Duration.seconds(120)
    private static let pollMilliseconds: Int32 = 50

    /// The path of its configuration, which need not exist.
    let file: String
    /// The folder of its configuration.
    var home: String { FileSystem.split(file).directory }
    /// The configuration; nil if there is none, or a wrong one.
    let configuration: ConfigurationMessage?
    private let source: StoreSource?
    /// Whether a daemon runs.
    var isRunning: Bool { source?.isRunning ?? false }
    init(
        _ control: ControlOptions, _ idle: IdleDaemonOptions, in context: CommandContext
    ) throws(RingwakeError) {
        let standard = idle.config ?? StandardDirectory.configuration(in: context) + "/ringwaked.toml"
        var (path, found): (String, StoreSource?) = (standard, nil)
        do throws(RingwakeError) {
            let source = try StoreSource(control, idle, in: context)
            (path, found) = (try source.file(), source)
        } catch {
            // A restore is what helps then.
            guard error.code == .badConfiguration || error.code == .notFound else { throw error }
        }
        file = InputFile.absolute(path)
        source = found
        configuration = FileSystem.exists(file) ? try DaemonProgram().inspect(file).0 : nil
    }

    /// The state directory that a configuration names, as the running daemon has it.
    func stateDirectory(_ directory: String) throws(RingwakeError) -> String {
        guard let source, let configuration, directory == configuration.stateDirectory else { return directory }
        return try source.stateDirectory(of: configuration)
    }

    /// - Throws: `conflict` while there are calls: a restore would end them.
    func requireNoCalls() throws(RingwakeError) {
        guard let source, source.isRunning else { return }
        let status: StatusMessage = try source.client.get(RequestTarget("status"))
        guard status.activeCalls == 0 else {
            throw RingwakeError(
                .conflict, "a restore would end the calls in progress (\(status.activeCalls)); try again after them")
        }
    }

    /// Has a running daemon start again, and waits until it answers.
    func restart() throws(RingwakeError) {
        guard let source, source.isRunning else { return }
        let asked = BootClock.now()
        let _: StatusMessage = try source.client.post(RequestTarget("restart"))
        let deadline = Deadline(after: Self.restartTimeout)
        while !deadline.hasPassed {
            poll(nil, 0, Self.pollMilliseconds)
            guard let now: StatusMessage = try? source.client.get(RequestTarget("status")) else { continue }
            // Not the one that was asked, which runs for longer.
            if .milliseconds(now.uptimeMs) < asked.duration(to: BootClock.now()) { return }
        }
        throw RingwakeError(
            .timedOut, "everything is ready, but the daemon does not answer again; look into its log, and start it")
    }
}

extension RestoreTarget {
    /// Why a daemon of this user would not start with the configuration as it is now; nil if it would.
    func startFailure(as owner: FileAttributes) -> String? {
        guard let (message, error) = inspect(as: owner) else { return "there is none" }
        return message.map(\.startFailure) ?? error?.message
    }

    /// What is wrong with the configuration as it is now.
    func failures(as owner: FileAttributes) -> [String] {
        inspect(as: owner).flatMap { $0.0?.failures ?? $0.1.map { [$0.message] } } ?? []
    }

    /// The apps of the configuration as it is now.
    func apps() -> [String] { (try? DaemonProgram().inspect(file).0?.apps) ?? [] }

    private func inspect(as owner: FileAttributes) -> (ConfigurationMessage?, RingwakeError?)? {
        guard FileSystem.exists(file) else { return nil }
        return try? DaemonProgram().inspect(file, user: geteuid() == 0 ? "\(owner.owner)" : nil)
    }
}

/// The state directory that a restore is for.
struct RestoredState {
    let directory: String
    /// Who owns it; nil if it is missing.
    private let found: FileAttributes?
    /// Who owns it, or is to own it: the user of the service, if there is one, where root restores.
    var owner: FileAttributes {
        if let found { return found }
        let user = geteuid() == 0 ? getpwnam("ringwake")?.pointee : nil
        return FileAttributes(owner: user?.pw_uid ?? geteuid(), group: user?.pw_gid ?? getegid(), mode: 0o700)
    }

    /// Finds it.
    ///
    /// - Parameters:
    ///   - configuration: a configuration, which may be in another place than the daemon will read it from.
    ///   - target: where the daemon will read it: paths in it are relative to that folder.
    init(_ configuration: String, for target: RestoreTarget) throws(RingwakeError) {
        let (message, error) = try DaemonProgram().inspect(configuration)
        guard let message else {
            throw error ?? RingwakeError(.badConfiguration, "\(configuration) cannot be read")
        }
        let folder = FileSystem.split(configuration).directory + "/"
        var directory = message.stateDirectory
        if directory.hasPrefix(folder) { directory = "\(target.home)/\(directory.dropFirst(folder.utf8.count))" }
        directory = try target.stateDirectory(directory)
        self.directory = directory
        found = try? FileSystem.attributes(of: directory)
        guard found != nil else { return }
        let names = try withFiles { () throws(FileSystemError) in try FileSystem.entries(of: directory) }
        // A backup can name any folder, and a restore moves aside what is in it.
        guard names.allSatisfy(StateDirectory.staysInRestore) || names.contains(where: StateDirectory.isEvidence) else {
            throw RingwakeError(
                .conflict,
                "\(directory) is no state directory of a daemon, and is not empty; nothing was changed. Change state_directory, "
                    + "or restore with --no-configuration")
        }
    }

    /// Creates it if it is missing.
    func create() throws(RingwakeError) {
        guard found == nil else { return }
        try withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory(directory, mode: 0o700)
            if geteuid() == 0 { try FileSystem.setAttributes(owner, of: directory) }
        }
    }
}

extension RestoredState {
    /// A new name for what is moved aside: the state, and files that get it added to their own names.
    func unusedAside(at seconds: Int64, _ files: [String]) -> String {
        let name = StateDirectory.aside + BackupTime(secondsSince1970: seconds).description.filter { $0 != ":" }
        var unused = name
        var number = 1
        while FileSystem.exists("\(directory)/\(unused)")
            || files.contains(where: { FileSystem.exists("\($0).\(unused)") })
        {
            number += 1
            unused = "\(name)-\(number)"
        }
        return unused
    }
}

/// A folder that nobody else can look into, and that is removed at the end.
final class ScratchFolder {
    private static let prefix = "ringwake-restore-"
    private static let lockName = "in-use"

    let path: String
    private let lock: FileLock

    /// Where it is made: `$TMPDIR`, else `/var/tmp`, which is on a disk.
    static func parent(in context: CommandContext) -> String {
        context.environment("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/var/tmp"
    }

    init(in parent: String) throws(RingwakeError) {
        try Self.require(parent)
        Self.sweep(parent)
        var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw RingwakeError(.system, "no folder can be made in \(parent): \(String(cString: strerror(errno)))")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        lock = try withFiles { () throws(FileSystemError) in try FileLock(path: "\(path)/\(Self.lockName)") }
    }

    /// Whoever may rename what others make in it could put a folder of his own in the place of this one.
    private static func require(_ parent: String) throws(RingwakeError) {
        var status = stat()
        guard stat(parent, &status) == 0 else {
            throw RingwakeError(FileSystemError(operation: "use", path: parent, errno: errno))
        }
        let isShared = status.st_mode & (S_IWGRP | S_IWOTH) != 0 && status.st_mode & S_ISVTX == 0
        guard status.st_uid == 0 || status.st_uid == geteuid(), !isShared else {
            throw RingwakeError(
                .notPermitted, "other users may change what is in \(parent); set TMPDIR to a folder where they may not")
        }
    }

    /// Removes what killed restores of this user left: there may be keys in it. The lock of one that runs is held.
    private static func sweep(_ parent: String) {
        // What can't be removed is left for the next one.
        for name in (try? FileSystem.entries(of: parent)) ?? [] where name.hasPrefix(prefix) {
            let folder = "\(parent)/\(name)"
            var status = stat()
            // Others may make a link of such a name in a folder for everybody.
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
                FileSystem.exists("\(folder)/\(lockName)"), let lock = try? FileLock(path: "\(folder)/\(lockName)")
            else { continue }
            withExtendedLifetime(lock) { try? FileSystem.removeTree(folder) }
        }
    }

    deinit {
        // What can't be removed is in nobody's way.
        try? FileSystem.removeTree(path)
    }

    /// Makes an empty folder in it, and gives it to a user.
    func makeFolder(_ name: String, for owner: FileAttributes) throws(RingwakeError) -> String {
        try withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory("\(path)/\(name)", mode: 0o700)
            if geteuid() == 0 { try FileSystem.setAttributes(owner, of: "\(path)/\(name)") }
        }
        return "\(path)/\(name)"
    }

    /// Gives the state in a folder in it to the user who is to take it, and lets that user get there.
    func give(_ name: String, to owner: FileAttributes) throws(RingwakeError) {
        guard geteuid() == 0, owner.owner != 0 else { return }
        var way = FileSystem.split(path).directory
        while way.utf8.count > 1 {
            let mode = try withFiles { () throws(FileSystemError) in try FileSystem.attributes(of: way).mode }
            guard mode & S_IXOTH != 0 else {
                throw RingwakeError(
                    .notPermitted,
                    "the daemon's user cannot get into \(way); set TMPDIR to a folder that all may search, such as /var/tmp"
                )
            }
            way = FileSystem.split(way).directory
        }
        try withFiles { () throws(FileSystemError) in
            for folder in [path, "\(path)/\(name)"] {
                try FileSystem.setAttributes(.init(owner: 0, group: 0, mode: 0o711), of: folder)
            }
            for part in ["state", "store", "portable"] where FileSystem.exists("\(path)/\(name)/\(part)") {
                try giveTree("\(path)/\(name)/\(part)", owner)
            }
        }
    }

    private func giveTree(_ folder: String, _ owner: FileAttributes) throws(FileSystemError) {
        // The files first: afterwards the folder is another user's.
        for name in try FileSystem.entries(of: folder) {
            let path = "\(folder)/\(name)"
            if (try? FileSystem.entries(of: path)) != nil {
                try giveTree(path, owner)
            } else {
                try FileSystem.setAttributes(.init(owner: owner.owner, group: owner.group, mode: 0o600), of: path)
            }
        }
        try FileSystem.setAttributes(.init(owner: owner.owner, group: owner.group, mode: 0o700), of: folder)
    }
}
