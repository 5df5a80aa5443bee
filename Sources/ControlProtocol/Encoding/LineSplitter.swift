/// Splits bytes into lines of limited length. Each byte is searched once.
package struct LineSplitter<TooLong: Error> {
    /// Maximum bytes of a line, without its end.
    private let maximumBytes: Int
    private let tooLong: TooLong
    private var bytes: [UInt8] = []
    private var start = 0
    private var scanned = 0

    /// - Parameter tooLong: the error for a longer line. Nothing can be read after it.
    package init(maximumBytes: Int, tooLong: TooLong) {
        self.maximumBytes = maximumBytes
        self.tooLong = tooLong
    }

    /// Whether the last line is incomplete.
    package var hasRest: Bool { start < bytes.count }

    package mutating func consume(_ new: some Sequence<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes += new
    }

    /// The next non-empty line, without its end; nil if it isn't complete yet.
    package mutating func next() throws(TooLong) -> [UInt8]? {
        while let end = bytes[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(bytes[start..<end])
            start = end + 1
            scanned = start
            guard line.count <= maximumBytes else { throw tooLong }
            if !line.isEmpty { return line }
        }
        scanned = bytes.count
        guard scanned - start <= maximumBytes else { throw tooLong }
        return nil
    }
}
