/// Cuts bytes into lines of bounded length. Each byte is looked at once.
package struct LineSplitter<TooLong: Error> {
    /// Bytes of a line at most, without its end.
    private let maximumBytes: Int
    private let tooLong: TooLong
    private var bytes: [UInt8] = []
    private var start = 0
    private var scanned = 0

    /// - Parameter tooLong: what a longer line is answered with; nothing can be read after that.
    package init(maximumBytes: Int, tooLong: TooLong) {
        self.maximumBytes = maximumBytes
        self.tooLong = tooLong
    }

    /// What has come of a line that has not ended.
    package var hasRest: Bool { start < bytes.count }

    package mutating func consume(_ new: some Sequence<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes += new
    }

    /// The next line that is not empty, without its end; nil when it has not come.
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
