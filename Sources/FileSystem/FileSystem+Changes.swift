internal import CRingwakeLinux
internal import Glibc

extension FileSystem {
    /// Replaces or creates a file atomically: after a crash or a power cut it has either the old or the new contents.
    ///
    /// The new contents are written to a file beside it, whose name starts with a dot, synced to disk and renamed. A
    /// symbolic link is replaced, not followed.
    /// - Parameter mode: permissions of the new file, regardless of the umask.
    package static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32
    ) throws(FileSystemError) {
        try replace(path, with: bytes, mode: mode, owners: nil)
    }

    /// The same, with an owner and a group. EPERM if this process may not give files to them.
    package static func replace(
        _ path: String, with bytes: [UInt8], attributes: FileAttributes
    ) throws(FileSystemError) {
        try replace(path, with: bytes, mode: attributes.mode, owners: (attributes.owner, attributes.group))
    }

    private static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32, owners: (user: UInt32, group: UInt32)?
    ) throws(FileSystemError) {
        try check(path)
        let (directory, name) = split(path)
        let (file, temporary) = try makeTemporaryFile(for: name, in: directory, mode: mode)
        do throws(FileSystemError) {
            // The owners first: fchown clears bits of the mode.
            if let owners {
                guard fchown(file.number, owners.user, owners.group) == 0 else { throw failure("chown", path) }
            }
            guard fchmod(file.number, mode) == 0 else { throw failure("chmod", path) }
            try write(bytes, to: file, path: path)
            guard fsync(file.number) == 0 else { throw failure("sync", path) }
            try move(temporary, to: path)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Creates an empty file with `mode`, minus the umask. EEXIST if the path exists.
    package static func create(_ path: String, mode: UInt32) throws(FileSystemError) {
        _ = try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
    }

    /// Renames a file within its directory, replaces an existing one, and syncs the rename to disk.
    package static func move(_ path: String, to target: String) throws(FileSystemError) {
        try check(path)
        try check(target)
        guard rename(path, target) == 0 else { throw failure("replace", target) }
        try synchronize(split(target).directory)
    }

    /// Renames a file within its directory and syncs the rename to disk. EEXIST if the target exists.
    ///
    /// A file system without hard links (FAT) can't do both at once: a target that appears meanwhile is replaced there.
    package static func moveNew(_ path: String, to target: String) throws(FileSystemError) {
        try check(path)
        try check(target)
        if link(path, target) == 0 {
            guard unlink(path) == 0 else { throw failure("remove", path) }
        } else {
            guard errno == EPERM || errno == ENOTSUP || errno == ENOSYS else { throw failure("create", target) }
            var status = stat()
            guard lstat(target, &status) != 0 else {
                throw FileSystemError(operation: "create", path: target, errno: EEXIST)
            }
            guard rename(path, target) == 0 else { throw failure("create", target) }
        }
        try synchronize(split(target).directory)
    }

    /// Gives a file a second name and syncs that to disk; a file system without hard links (FAT) copies it. EEXIST if the
    /// name exists. A symbolic link is not followed.
    package static func linkNew(_ path: String, at target: String) throws(FileSystemError) {
        try check(path)
        try check(target)
        guard link(path, target) != 0 else { return try synchronize(split(target).directory) }
        guard errno == EPERM || errno == ENOTSUP || errno == ENOSYS else { throw failure("create", target) }
        try copy(path, to: target)
    }

    /// Copies a regular file into a new one (0600), and syncs that to disk. EEXIST if it exists; ELOOP for a symbolic link.
    package static func copy(_ path: String, to target: String) throws(FileSystemError) {
        let source = try Descriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        var status = stat()
        guard fstat(source.number, &status) == 0 else { throw failure("stat", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileSystemError(operation: "copy", path: path, errno: EINVAL)
        }
        let file = try Descriptor(opening: target, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        do throws(FileSystemError) {
            var buffer = [UInt8](repeating: 0, count: 256 << 10)
            var pieces = WriteBack()
            while true {
                let count = buffer.withUnsafeMutableBytes { buffer in
                    retryingWhenInterrupted { Glibc.read(source.number, buffer.baseAddress, buffer.count) }
                }
                guard count >= 0 else { throw failure("read", path) }
                if count == 0 { break }
                try write(Array(buffer[..<count]), to: file, path: target)
                guard pieces.reachedPosition(of: file.number) else { throw failure("write", target) }
            }
            guard fsync(file.number) == 0 else { throw failure("sync", target) }
            try synchronize(split(target).directory)
        } catch {
            unlink(target)
            throw error
        }
    }

    /// Creates a directory and its parents with `mode`, minus the umask. It may exist already.
    package static func createDirectory(_ path: String, mode: UInt32) throws(FileSystemError) {
        try check(path)
        guard !path.isEmpty else { throw FileSystemError(operation: "create directory", path: path, errno: ENOENT) }
        // From the top down: an existing parent may not be writable or searchable for us.
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            prefix += component
            if mkdir(prefix, mode) != 0, errno != EEXIST, !exists(prefix) {
                throw failure("create directory", path)
            }
            prefix += "/"
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("create directory", path) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw FileSystemError(operation: "create directory", path: path, errno: ENOTDIR)
        }
    }

    /// Removes a file, a socket or a symbolic link. ENOENT if it doesn't exist.
    package static func remove(_ path: String) throws(FileSystemError) {
        try check(path)
        guard unlink(path) == 0 else { throw failure("remove", path) }
    }

    /// The directory of a path (`.` if it has no slash), and the name in it.
    package static func split(_ path: String) -> (directory: String, name: Substring) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path[...]) }
        let directory = path[..<slash]
        return (directory.isEmpty ? "/" : String(directory), path[path.index(after: slash)...])
    }

    private static func makeTemporaryFile(
        for name: Substring, in directory: String, mode: UInt32
    ) throws(FileSystemError) -> (file: Descriptor, path: String) {
        // A crashed process with the same PID may have left such a name, but not several in a row.
        let attempts = 16
        for attempt in 1...attempts {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            let path = "\(directory)/.\(name).\(getpid()).\(time.tv_nsec).tmp"
            do throws(FileSystemError) {
                let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
                return (try Descriptor(opening: path, flags: flags, mode: mode & 0o600), path)
            } catch {
                guard error.errno == EEXIST, attempt < attempts else {
                    throw FileSystemError(operation: "write", path: "\(directory)/\(name)", errno: error.errno)
                }
            }
        }
        throw FileSystemError(operation: "write", path: "\(directory)/\(name)", errno: EEXIST)
    }

    private static func write(_ bytes: [UInt8], to file: Descriptor, path: String) throws(FileSystemError) {
        var written = 0
        while written < bytes.count {
            let result = bytes.withUnsafeBytes { buffer in
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                return retryingWhenInterrupted { Glibc.write(file.number, rest.baseAddress, rest.count) }
            }
            guard result > 0 else { throw failure("write", path) }
            written += result
        }
    }

    /// Syncs a rename in `directory` to disk. File systems that don't support it (EINVAL) don't need it.
    private static func synchronize(_ directory: String) throws(FileSystemError) {
        let descriptor = try Descriptor(opening: directory, flags: O_RDONLY | O_DIRECTORY)
        guard fsync(descriptor.number) == 0 || errno == EINVAL else { throw failure("sync", directory) }
    }
}
