internal import ControlProtocol
internal import FileSystem
internal import Glibc
internal import RingwakeCore

/// Reads a file or a pipe line by line.
struct LineInput {
    private final class File {
        let descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { close(descriptor) }
    }

    private let descriptor: Int32
    private var file: File?
    private var lines: LineSplitter<RingwakeError>
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var isAtEnd = false

    /// - Parameter descriptor: stays open.
    init(descriptor: Int32, maximumBytes: Int) {
        self.descriptor = descriptor
        lines = LineSplitter(
            maximumBytes: maximumBytes,
            tooLong: RingwakeError(
                .invalidRequest, "a line has more than \(maximumBytes) bytes: this is no export; nothing was imported.")
        )
    }

    /// Opens a file.
    init(file path: String, maximumBytes: Int) throws(RingwakeError) {
        // A pipe would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw RingwakeError(.system, FileSystemError(operation: "open", path: path, errno: errno).description)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw RingwakeError(.system, FileSystemError(operation: "read", path: path, errno: EINVAL).description)
        }
        self.init(descriptor: descriptor, maximumBytes: maximumBytes)
        file = File(descriptor)
    }

    /// The next line; nil at the end.
    mutating func next() throws(RingwakeError) -> [UInt8]? {
        while true {
            if let line = try lines.next() { return line }
            guard !isAtEnd else { return nil }
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                lines.consume(buffer[..<count])
            } else if count == 0 {
                isAtEnd = true
                // A last line without its end is one all the same.
                if lines.hasRest { lines.consume([UInt8(ascii: "\n")]) }
            } else if errno != EINTR {
                throw RingwakeError(.system, "the records can't be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}
