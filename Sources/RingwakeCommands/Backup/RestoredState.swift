import BackupArchive
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore

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
