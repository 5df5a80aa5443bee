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
}

extension FileSystem {
    /// The attributes of a file or a directory. Symbolic links are followed.
    package static func attributes(of path: String) throws(FileSystemError) -> FileAttributes {
        try check(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("stat", path) }
        return FileAttributes(owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o7777)
    }

    /// Changes owner, group and mode of a file or a directory. EPERM if this process may not.
    package static func setAttributes(_ attributes: FileAttributes, of path: String) throws(FileSystemError) {
        try check(path)
        guard chown(path, attributes.owner, attributes.group) == 0 else { throw failure("chown", path) }
        guard chmod(path, attributes.mode) == 0 else { throw failure("chmod", path) }
    }

    /// Removes a directory with everything in it. Symbolic links in it are removed, not followed; ENOTDIR if it is one.
    package static func removeTree(_ path: String) throws(FileSystemError) {
        guard !isLink(path) else { throw FileSystemError(operation: "remove", path: path, errno: ENOTDIR) }
        for name in try entries(of: path) {
            let child = path + "/" + name
            var status = stat()
            guard lstat(child, &status) == 0 else { throw failure("stat", child) }
            if status.st_mode & S_IFMT == S_IFDIR {
                try removeTree(child)
            } else {
                try remove(child)
            }
        }
        guard rmdir(path) == 0 else { throw failure("remove", path) }
    }
}
