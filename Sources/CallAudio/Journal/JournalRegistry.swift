internal import FileSystem
internal import Glibc
internal import Logging

/// Where the programs of one login find each other's effect journals, in whatever folders these lie: a folder in the
/// runtime directory, in which they all find the audio server too.
///
/// An entry is a symbolic link to a journal, named after a hash of its path. It is made when the journal is written,
/// before the first command leaves, and goes after the journal. So a program that was killed leaves its entry as long as
/// its journal says that there is something to be undone. What a kill in between leaves is swept by the next one who
/// makes an entry, under the lock of the journal in question: its program has that as long as it lives.
///
/// A registry that cannot be used is told in the log; effects are made and undone without it.
final class JournalRegistry {
    /// Journals in it at a time. More than one program with a journal in a place of its own is rare already.
    static let maximumEntries = 64
    private static let ending = ".journal"

    /// `$XDG_RUNTIME_DIR/ringwake-audio`; not in the folder of the daemon's own runtime files, which goes when it stops.
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

    /// The journals that are in it, and are there.
    var journals: [String] {
        guard isOurs(folder) else { return [] }
        return names().prefix(Self.maximumEntries).compactMap { target(of: "\(folder)/\($0)") }
            .filter { FileSystem.exists($0) }
    }

    /// Makes a journal known.
    /// - Parameter journal: The absolute path of a journal whose lock this process has.
    func enter(_ journal: String) {
        let entry = entry(of: journal)
        if target(of: entry) == journal { return }
        guard isOurs(runtime) else { return tell("\(runtime) is not this user's own") }
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return tell(failure) }
        guard isOurs(folder) else { return tell("\(folder) is not this user's own") }
        guard sweep() < Self.maximumEntries else { return tell("there are \(Self.maximumEntries) entries already") }
        // What has the name is no entry, or one of another journal that happens to have the same hash.
        unlink(entry)
        guard symlink(journal, entry) == 0 else { return tell(failure) }
    }

    /// The journal is no more.
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
            tell(error.description)
            return []
        }
    }

    /// What an entry leads to; nil for what is no entry of this user's.
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

    /// Removes the entry of a journal that is not there, unless a program is at work with it.
    /// - Returns: Whether it is gone.
    private func remove(_ entry: String, of journal: String) -> Bool {
        do throws(FileSystemError) {
            let lock = try FileLock(path: journal + ".lock")
            return withExtendedLifetime(lock) { !FileSystem.exists(journal) && unlink(entry) == 0 }
        } catch {
            // The folder is gone, and so is the program, or it makes the folder and the entry anew.
            guard [ENOENT, ENOTDIR].contains(error.errno) else { return false }
            return unlink(entry) == 0
        }
    }

    /// A directory of this user's, in which nobody else makes anything.
    private func isOurs(_ directory: String) -> Bool {
        var status = stat()
        return lstat(directory, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
            && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    // MARK: - Problems

    private var failure: String { "\(folder): \(String(cString: strerror(errno)))" }

    private func tell(_ why: String) {
        if !isProblemLogged {
            logger.warning("other programs do not see this one's audio effects", metadata: ["why": "\(why)"])
        }
        isProblemLogged = true
    }
}
