import FileSystem
import Glibc
import RingwakeCore

/// A folder that nobody else can look into, and that is removed at the end.
final class ScratchFolder {
    private static let lockName = "in-use"

    let path: String
    private let lock: FileLock

    /// Where large ones are made: `$TMPDIR`, else `/var/tmp`, which is on a disk.
    static func parent(in context: CommandContext) -> String {
        context.environment("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/var/tmp"
    }

    /// - Parameters:
    ///   - parent: nobody else may rename what is in it.
    ///   - prefix: of its name. Folders of that prefix which killed processes left are removed.
    init(in parent: String, prefix: String) throws(RingwakeError) {
        try Self.require(parent)
        Self.sweep(parent, prefix)
        var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw RingwakeError(
                .system,
                "no folder can be made in \(parent): \(String(cString: strerror(errno))); set TMPDIR to one that you may "
                    + "write in")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        lock = try withFiles { () throws(FileSystemError) in try FileLock(path: "\(path)/\(Self.lockName)") }
    }

    /// Whoever may rename what others make in it could put a folder of his own in the place of this one.
    private static func require(_ parent: String) throws(RingwakeError) {
        let found = try withFiles { () throws(FileSystemError) in try FileSystem.attributes(of: parent) }
        let isShared = found.mode & (S_IWGRP | S_IWOTH) != 0 && found.mode & S_ISVTX == 0
        guard found.owner == 0 || found.owner == geteuid(), !isShared else {
            throw RingwakeError(
                .notPermitted, "other users may change what is in \(parent); set TMPDIR to a folder where they may not")
        }
    }

    /// Removes what killed processes of this user left: there may be keys in it. The lock of one that runs is held.
    private static func sweep(_ parent: String, _ prefix: String) {
        // What can't be removed is left for the next run: it is in nobody's way.
        for name in (try? FileSystem.entries(of: parent)) ?? [] where name.hasPrefix(prefix) {
            let folder = "\(parent)/\(name)"
            let mark = "\(folder)/\(lockName)"
            // Others may make a link of such a name in a folder for everybody.
            guard !FileSystem.isLink(folder), (try? FileSystem.attributes(of: folder).owner) == geteuid(),
                !FileSystem.isLink(mark), (try? FileSystem.attributes(of: mark).owner) == geteuid(),
                let lock = try? FileLock(path: mark)
            else { continue }
            try? FileSystem.removeTree(folder)
            withExtendedLifetime(lock) {}
        }
    }

    deinit {
        // What can't be removed is left for the next run, unless ``remove()`` has said so.
        try? FileSystem.removeTree(path)
    }

    /// Removes it now, and throws if that can't be done.
    func remove() throws(RingwakeError) {
        try withFiles { () throws(FileSystemError) in try FileSystem.removeTree(path) }
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
