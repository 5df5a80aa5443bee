internal import Glibc

/// Cuts a sequence of pieces into lines that end in LF or CRLF.
struct LineCutter {
    struct Line {
        /// The line without its end; cut at ``LineCutter/maximumBytes``.
        var bytes: [UInt8]
        /// Whether the line was cut.
        var isCut: Bool
        /// The line number, from 1.
        var number: Int
    }

    /// The maximum size of a line in bytes; the rest of the line is dropped.
    static let maximumBytes = 65_536

    private var waiting: [UInt8] = []
    private var isCut = false
    private var number = 0
    private var isAtStart = true

    /// The lines that end in `piece`.
    mutating func take(_ piece: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var start = 0
        while let end = LineCutter.nextLineEnd(in: piece, from: start) {
            keep(piece[start..<end])
            lines.append(finishLine())
            start = end + 1
        }
        keep(piece[start...])
        return lines
    }

    /// The last line, if it had no end.
    mutating func finish() -> [Line] {
        waiting.isEmpty && !isCut ? [] : [finishLine()]
    }

    private static func nextLineEnd(in piece: [UInt8], from start: Int) -> Int? {
        piece.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        let room = LineCutter.maximumBytes - waiting.count
        waiting += bytes.prefix(room)
        if bytes.count > room { isCut = true }
    }

    private mutating func finishLine() -> Line {
        number += 1
        if waiting.last == UInt8(ascii: "\r") { waiting.removeLast() }
        // The byte order mark of UTF-8, which spreadsheets write.
        if isAtStart, waiting.starts(with: [0xEF, 0xBB, 0xBF]) { waiting.removeFirst(3) }
        isAtStart = false
        defer { (waiting, isCut) = ([], false) }
        return Line(bytes: waiting, isCut: isCut, number: number)
    }
}
