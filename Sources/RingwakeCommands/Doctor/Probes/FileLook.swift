import FileSystem
import Glibc

/// What is known of a file without reading it.
enum FileLook {
    /// In seconds since 1970; nil if there is no such file.
    static func modifiedAt(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_mtim.tv_sec) : nil
    }

    static func owner(_ path: String) -> UInt32? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    /// Whether the group or others may read it; nil if there is no such file.
    static func isOpenToOthers(_ path: String) -> Bool? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o044 != 0 : nil
    }

    /// Whether this user's rights are what keeps it from reading.
    static func isForbidden(_ path: String) -> Bool {
        faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno == EACCES
    }

    /// Why a program can't be started, and what to do; nil if this user sees nothing wrong.
    static func fault(ofProgram path: String) -> (problem: String, hint: String)? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? ("there is no program \(path)", "install it") : nil
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o111 != 0 else {
            return ("\(path) is not an executable file", "run 'chmod +x' on it")
        }
        guard let interpreter = FileSystem.interpreter(of: path), stat(interpreter, &status) != 0 else { return nil }
        return ("\(path) needs \(interpreter), which is not there", "install that")
    }

    static func isWritable(_ path: String) -> Bool { faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 }
}

/// The file system that holds the store.
struct StoreLook: Equatable {
    var directory: String
    /// Bytes that a user may still write; nil if the directory can't be looked at.
    var freeBytes: UInt64?
    var isReadOnly = false

    init(directory: String, freeBytes: UInt64?, isReadOnly: Bool = false) {
        self.directory = directory
        self.freeBytes = freeBytes
        self.isReadOnly = isReadOnly
    }

    init(directory: String) {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else {
            self.init(directory: directory, freeBytes: nil)
            return
        }
        let bytes = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        self.init(
            directory: directory, freeBytes: bytes.overflow ? .max : bytes.partialValue,
            isReadOnly: UInt(status.f_flag) & UInt(ST_RDONLY) != 0)
    }
}
