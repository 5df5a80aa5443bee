internal import FileSystem
internal import Glibc
internal import Logging

/// A folder in the runtime directory, in which the programs of one login find each other's effect journals, wherever
/// those are. They find the audio server there too.
///
/// An entry is a symbolic link to a journal, named after a hash of its path. It is created when the journal is
/// written, before the first command is sent, and removed after the journal. So a killed program leaves its entry as
/// long as its journal has effects to undo. A kill in between leaves an entry without a journal. The next program
/// that adds an entry removes it, under the lock of that journal, which a running program holds.
///
/// If the registry can't be used, that is logged; effects are made and undone without it.
final class JournalRegistry {
    /// Maximum number of entries. Even two programs with a journal in a place of their own are rare.
    static let maximumEntries = 64
    private static let ending = ".journal"

    /// `$XDG_RUNTIME_DIR/ringwake-audio`; not the daemon's own runtime folder, which is removed when it stops.
    let folder: String
    private let runtime: String
    private let logger: Logger
    private var isProblemLogged = false

    /// Nil where the environment names no runtime directory.
    init?(_ environment: [String: String], _ logger: Logger) {
        guard let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") else { return nil }
        self.runtime = runtime
        self.logger = logger
        folder = runtime + "/ringwake-audio"
    }

    /// The journals in it that exist.
    var journals: [String] {
        guard isOurs(folder) else { return [] }
        return names().prefix(Self.maximumEntries).compactMap { target(of: "\(folder)/\($0)") }
            .filter { FileSystem.exists($0) }
    }

    /// Adds a journal.
    /// - Parameter journal: The absolute path of a journal whose lock this process holds.
    func enter(_ journal: String) {
        let entry = entry(of: journal)
        if target(of: entry) == journal { return }
        guard isOurs(runtime) else { return report("\(runtime) is not this user's own") }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return report(failure) }
        guard isOurs(folder) else { return report("\(folder) is not this user's own") }
        guard sweep() < Self.maximumEntries else { return report("there are \(Self.maximumEntries) entries already") }
        // A file of that name isn't an entry, or belongs to another journal with the same hash.
        unlink(entry)
        guard symlink(journal, entry) == 0 else { return report(failure) }
    }

    /// Removes a journal.
    func leave(_ journal: String) {
        let entry = entry(of: journal)
        if target(of: entry) == journal { unlink(entry) }
    }

    // MARK: - Entries

    func entry(of journal: String) -> String {
        "\(folder)/\(EffectJournalFile.checksum(journal.utf8))\(Self.ending)"
    }

    private func names() -> [String] {
        do throws(FileSystemError) {
            return try FileSystem.entries(of: folder).filter { $0.hasSuffix(Self.ending) }
        } catch {
            report(error.description)
            return []
        }
    }

    /// The journal that an entry points to; nil if it isn't an entry of this user.
    private func target(of entry: String) -> String? {
        var status = stat()
        guard lstat(entry, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid == geteuid() else {
            return nil
        }
        let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> String? in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(entry, start, buffer.count)
            // A target that fills the buffer may be longer.
            guard count > 0, count < buffer.count else { return nil }
            return String(decoding: UnsafeRawBufferPointer(buffer)[..<count], as: UTF8.self)
        }
        return path.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// - Returns: How many entries are left.
    private func sweep() -> Int {
        var count = 0
        for name in names() {
            let entry = "\(folder)/\(name)"
            guard let journal = target(of: entry) else {
                unlink(entry)
                continue
            }
            if FileSystem.exists(journal) || !remove(entry, of: journal) { count += 1 }
        }
        return count
    }

    /// Removes the entry of a journal that does not exist, unless a program holds its lock.
    /// - Returns: Whether it was removed.
    private func remove(_ entry: String, of journal: String) -> Bool {
        do throws(FileSystemError) {
            let lock = try FileLock(path: journal + ".lock")
            return withExtendedLifetime(lock) { !FileSystem.exists(journal) && unlink(entry) == 0 }
        } catch {
            // The folder is gone: the program is gone too, or it creates the folder and the entry again.
            guard [ENOENT, ENOTDIR].contains(error.errno) else { return false }
            return unlink(entry) == 0
        }
    }

    /// Whether it is a directory of this user, in which nobody else can create anything.
    private func isOurs(_ directory: String) -> Bool {
        var status = stat()
        return lstat(directory, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
            && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    // MARK: - Problems

    private var failure: String { "\(folder): \(String(cString: strerror(errno)))" }

    private func report(_ why: String) {
        if !isProblemLogged {
            logger.warning("other programs do not see this one's audio effects", metadata: ["why": "\(why)"])
        }
        isProblemLogged = true
    }
}
