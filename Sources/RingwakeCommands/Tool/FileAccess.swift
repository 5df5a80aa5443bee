import CRingwakeLinux
import FileSystem
import Glibc
import RingwakeCore

extension RingwakeError {
    /// A failed file operation, with what to do about it.
    init(_ error: FileSystemError) {
        if error.isMissing {
            self.init(.notFound, "\(error); check the path")
        } else if error.isDenied {
            self.init(.notPermitted, "\(error); run as the file's owner or as root, or choose another place")
        } else if error.errno == EFBIG {
            self.init(.limitReached, "\(error); check that it is the right file")
        } else {
            self.init(.system, "\(error)")
        }
    }
}

/// Runs `body`, and adds to a file's error what to do about it.
func withFiles<Result>(_ body: () throws(FileSystemError) -> Result) throws(RingwakeError) -> Result {
    do throws(FileSystemError) {
        return try body()
    } catch {
        throw RingwakeError(error)
    }
}

/// Reading files that the command line names.
enum InputFile {
    /// Maximum bytes of a file: far above any certificate, key or payload.
    static let maximumBytes = 1024 * 1024

    /// The contents of `path`; `-` is standard input if `allowsStandardInput`.
    static func read(_ path: String, allowsStandardInput: Bool = false) throws(RingwakeError) -> [UInt8] {
        let isStandardInput = allowsStandardInput && path == "-"
        return try withFiles { () throws(FileSystemError) in
            try FileSystem.read(isStandardInput ? "/dev/stdin" : path, maximumSize: maximumBytes, acceptingPipes: true)
        }
    }
}

extension InputFile {
    /// The absolute path, for a reader with another working directory; unchanged if that fails.
    static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The working directory; `.` if it was removed.
    static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "." }
        defer { free(path) }
        return String(cString: path)
    }

    /// The size of a regular file in bytes; nil for anything else, such as standard input.
    static func size(of path: String) -> Int64? {
        var status = stat()
        guard path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Bytes of one read.
    private static let pieceBytes = 64 * 1024

    /// Reads `path` piece by piece, however long it is; `-` is standard input.
    static func forEachPiece(
        of path: String, _ take: ([UInt8]) throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        let descriptor = ringwake_open(path == "-" ? "/dev/stdin" : path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw RingwakeError(FileSystemError(operation: "open", path: path, errno: errno)) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: pieceBytes)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                try take(Array(buffer[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                throw RingwakeError(FileSystemError(operation: "read", path: path, errno: errno))
            }
        }
    }
}
