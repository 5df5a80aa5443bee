internal import CRingwakeLinux
internal import FileSystem
internal import Glibc
package import RingwakeCore

/// The file that a backup is written to before it gets its name: `NAME.partial`.
///
/// Its writer has a lock on it, which the kernel releases when the writer dies. So what a killed writer left is known from what
/// is being written.
package final class PartialFile {
    private static let suffix = ".partial"
    /// zstd's magic number (RFC 8878 section 3.1.1). A file of another kind isn't ours to remove.
    static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    /// What to write to.
    let file: OpenFile
    private let path: String
    private let target: String
    private var isCommitted = false
    private var pieces = WriteBack()

    /// Makes the file. One that a killed writer left is removed first.
    init(for target: String) throws(RingwakeError) {
        var status = stat()
        guard lstat(target, &status) != 0 else { throw .unwritable(target, EEXIST) }
        self.target = target
        path = target + Self.suffix
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        if let file = OpenFile(path, flags: flags, mode: 0o600) {
            self.file = file
        } else {
            let number = errno
            guard number == EEXIST else { throw .unwritable(target, number) }
            guard Self.removeLeftOver(path) else {
                throw RingwakeError(
                    .inUse, "\(path) is being written by another backup, or is none; wait, or remove it")
            }
            guard let file = OpenFile(path, flags: flags, mode: 0o600) else { throw .unwritable(target, errno) }
            self.file = file
        }
        // Without locks on this file system, nothing is known to be left over, and nothing is removed.
        _ = file.lock()
    }

    deinit {
        if !isCommitted { unlink(path) }
    }

    /// Call it now and then: see ``WriteBack``.
    func writeBack() throws(RingwakeError) {
        guard pieces.reachedPosition(of: file.number) else { throw .unwritable(target, errno) }
    }

    /// Gives the file its name, durably. It is as it was if this throws.
    func commit() throws(RingwakeError) {
        guard file.synchronize() else { throw .unwritable(target, errno) }
        do throws(FileSystemError) {
            try FileSystem.moveNew(path, to: target)
        } catch {
            // The directory may be what couldn't be synced, and then the file has its name.
            var (named, own) = (stat(), stat())
            if lstat(target, &named) == 0, fstat(file.number, &own) == 0, named.st_dev == own.st_dev,
                named.st_ino == own.st_ino
            {
                unlink(target)
            }
            throw .unwritable(target, error.errno)
        }
        isCommitted = true
    }

    /// Removes what killed writers left in a directory, beside backups with standard names.
    ///
    /// - Returns: the names of the removed files.
    /// - Throws: if the directory can't be read.
    @discardableResult
    package static func removeAll(in directory: String) throws(RingwakeError) -> [String] {
        let names: [String]
        do throws(FileSystemError) {
            names = try FileSystem.entries(of: directory)
        } catch {
            let code: RingwakeError.Code = error.isMissing ? .notFound : error.isDenied ? .notPermitted : .system
            throw RingwakeError(code, "\(error); name a directory that this user may read")
        }
        return names.filter { name in
            name.hasSuffix(suffix) && BackupName(String(name.dropLast(suffix.count))) != nil
                && removeLeftOver(directory + "/" + name)
        }
    }

    /// Removes the file if nobody writes it and it is part of an archive.
    private static func removeLeftOver(_ path: String) -> Bool {
        guard let file = OpenFile(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK), file.status != nil,
            file.lock()
        else { return false }
        var start = [UInt8](repeating: 0, count: magic.count)
        let count = start.withUnsafeMutableBytes { file.read(into: $0) }
        guard count == 0 || start == magic else { return false }
        // The lock is held until then.
        return withExtendedLifetime(file) { unlink(path) == 0 }
    }
}
