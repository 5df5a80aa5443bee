internal import FileSystem
internal import Glibc
internal import PushJournal
internal import RingwakeCore

/// Standard output and standard error, for programs that print and end. A message that can't be printed is passed over
/// (`try?`): there is nowhere to report it.
struct StandardStream {
    /// Bytes of one write of records.
    private static let pieceBytes = 256 << 10

    static let output = StandardStream(descriptor: STDOUT_FILENO)
    static let error = StandardStream(descriptor: STDERR_FILENO)

    let descriptor: Int32

    func write(_ text: String) throws(RingwakeError) { try write(Array(text.utf8)) }

    /// Writes all records.
    /// - Returns: how many of them could not be opened, and of how many the keys were deleted.
    func write(_ export: consuming PortableExport) throws(RingwakeError) -> (locked: Int64, deleted: Int64) {
        var piece: [UInt8] = []
        var pieces = WriteBack()
        while let line = try export.next() {
            piece += line
            guard piece.count >= Self.pieceBytes else { continue }
            try write(piece)
            guard pieces.reachedPosition(of: descriptor) else { throw Self.failure() }
            piece = []
        }
        try write(piece)
        return (export.locked, export.deleted)
    }

    func write(_ bytes: [UInt8]) throws(RingwakeError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                throw Self.failure()
            }
            rest = rest.dropFirst(max(0, count))
        }
    }

    private static func failure() -> RingwakeError {
        RingwakeError(.system, "the output can't be written: \(String(cString: strerror(errno)))")
    }
}
