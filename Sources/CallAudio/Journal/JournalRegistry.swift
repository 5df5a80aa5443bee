internal import FileSystem
internal import Glibc
internal import Logging

/// Where the programs of one login find each other's effect journals, whatever folders these are in: a folder in the
/// runtime directory, where they all find the audio server too.
///
/// An entry is a symbolic link to a journal, named after a hash of its path. It is made when the journal is written,
/// before the first command leaves, and removed after the journal. So a killed program leaves its entry as long as its
/// journal holds something to undo. What a kill in between leaves is removed by the next program that makes an entry,
/// under the lock of that journal: its program holds the lock as long as it lives.
///
/// A registry that cannot be used is logged; effects are made and undone without it.
final class JournalRegistry {
    /// Maximum number of entries. More than one program with a journal in its own place is rare already.
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
        // The file of that name is no entry, or that of another journal with the same hash.
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

    /// The journal that an entry leads to; nil for what is no entry of this user.
    private func target(of entry: String) -> String? {
        var status = stat()
        guard lstat(entry, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid == geteuid() else {
            return nil
        }
        let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> String? in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(entry, start, buffer.count)
            // One that fills the buffer may be longer.
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
            // The folder is gone: so is the program, or it makes the folder and the entry anew.
            guard [ENOENT, ENOTDIR].contains(error.errno) else { return false }
            return unlink(entry) == 0
        }
    }

    /// A directory of this user, in which nobody else can make anything.
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
