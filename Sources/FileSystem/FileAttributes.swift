internal import Glibc

/// Who owns a file, and who may use it.
package struct FileAttributes: Equatable, Sendable {
    /// The owner's user number.
    package var owner: UInt32
    /// The group's number.
    package var group: UInt32
    /// The permission bits.
    package var mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
        self.owner = owner
        self.group = group
        self.mode = mode
    }

    init(_ status: stat) {
        self.init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
    }
}

extension FileSystem {
    /// The attributes of a file or a directory. Symbolic links are followed.
    package static func attributes(of path: String) throws(FileSystemError) -> FileAttributes {
        try check(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("stat", path) }
        return FileAttributes(status)
    }

    /// Changes owner, group and mode of a file or a directory. EPERM if this process may not.
    package static func setAttributes(_ attributes: FileAttributes, of path: String) throws(FileSystemError) {
        try check(path)
        guard chown(path, attributes.owner, attributes.group) == 0 else { throw failure("chown", path) }
        guard chmod(path, attributes.mode) == 0 else { throw failure("chmod", path) }
    }

    /// Removes a directory with everything in it. Symbolic links in it are removed, not followed; ENOTDIR if it is one. Whoever
    /// may write in it can't lead this out of it by replacing a name meanwhile.
    package static func removeTree(_ path: String) throws(FileSystemError) {
        try check(path)
        try removeContents(try Descriptor(opening: path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path)
        guard rmdir(path) == 0 else { throw failure("remove", path) }
    }

    private static func removeContents(_ directory: Descriptor, _ path: String) throws(FileSystemError) {
        for name in try entries(of: "/proc/self/fd/\(directory.number)") {
            let child = "\(path)/\(name)"
            if unlinkat(directory.number, name, 0) == 0 { continue }
            guard errno == EISDIR || errno == EPERM else { throw failure("remove", child) }
            let number = openat(directory.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard number >= 0 else { throw failure("remove", child) }
            try removeContents(Descriptor(owning: number), child)
            guard unlinkat(directory.number, name, AT_REMOVEDIR) == 0 else { throw failure("remove", child) }
        }
    }
}
