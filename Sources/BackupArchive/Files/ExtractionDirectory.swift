internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// The directory that a backup is unpacked into. It is new, and no name or link leads out of it.
final class ExtractionDirectory {
    let path: String
    private let root: OpenFile
    /// The folders in it that files were put into.
    private var folders: Set<[String]> = []

    /// Creates the directory (0700).
    init(creating path: String) throws(RingwakeError) {
        self.path = path
        guard !path.utf8.contains(0), mkdir(path, 0o700) == 0 else { throw .unwritable(path, errno) }
        guard let root = OpenFile(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
            let number = errno
            rmdir(path)
            throw .unwritable(path, number)
        }
        self.root = root
    }

    /// Creates an empty file, with the folders on the way to it.
    func create(_ name: MemberName) throws(RingwakeError) -> OpenFile {
        var components = name.components
        let last = components.removeLast()
        let folder = try open(components, creating: true)
        folders.insert(components)
        guard let file = OpenFile(last, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        else { throw failure(name.description) }
        return file
    }

    /// Ends a file: its mode and contents are on the disk.
    func finish(_ file: OpenFile, _ name: MemberName, mode: FileMode) throws(RingwakeError) {
        guard fchmod(file.number, mode.bits) == 0, file.synchronize() else { throw failure(name.description) }
    }

    /// Makes the names durable.
    func synchronize() throws(RingwakeError) {
        for folder in folders.union([[]]) {
            guard try open(folder, creating: false).synchronize() else {
                throw failure(folder.joined(separator: "/"))
            }
        }
    }

    /// Removes the directory with everything in it.
    func remove() {
        // What can't be removed stays in a directory that nobody uses.
        try? FileSystem.removeTree(path)
    }

    private func open(_ components: [String], creating: Bool) throws(RingwakeError) -> OpenFile {
        var folder = root
        for (index, component) in components.enumerated() {
            guard !creating || mkdirat(folder.number, component, 0o700) == 0 || errno == EEXIST,
                let next = OpenFile(component, in: folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            else { throw failure(components[...index].joined(separator: "/")) }
            if creating { folders.insert(Array(components[..<index])) }
            folder = next
        }
        return folder
    }

    private func failure(_ name: String) -> RingwakeError { .unwritable("\(path)/\(name)", errno) }
}
