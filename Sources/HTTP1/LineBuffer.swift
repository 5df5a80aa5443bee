/// Received bytes, consumed by lines or in pieces. Each byte is examined once.
struct LineBuffer {
    /// Why a line is invalid.
    enum Fault: Error {
        /// It has no end within the limit.
        case tooLong
        /// It has a CR without LF, or an LF without CR.
        case bareLineEnd
    }

    private(set) var bytes: [UInt8] = []
    /// Index of the first byte that isn't consumed.
    private var start = 0
    /// There is no line end between `start` and this index.
    private var scanned = 0

    /// Number of bytes that aren't consumed.
    var count: Int { bytes.count - start }

    /// If fewer bytes are consumed, don't move the rest to the front.
    private static let compactionThreshold = 4 * 1024

    mutating func append(contentsOf new: some Collection<UInt8>) {
        if start == bytes.count {
            // An idle connection keeps no buffer.
            bytes = []
            start = 0
            scanned = 0
        } else if start > LineBuffer.compactionThreshold && start > bytes.count / 2 {
            // More bytes are dropped than moved, so the total cost stays linear.
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Consumes a line that ends with CRLF.
    ///
    /// - Returns: the range of the line in ``bytes``, without its end, valid until the next `append`; nil if the line
    ///   is incomplete.
    mutating func takeLine(maximumBytes: Int) throws(Fault) -> Range<Int>? {
        while scanned < bytes.count {
            let byte = bytes[scanned]
            if byte == ByteClass.lineFeed { throw .bareLineEnd }
            if byte == ByteClass.carriageReturn {
                guard scanned + 1 < bytes.count else { return nil }
                guard bytes[scanned + 1] == ByteClass.lineFeed else { throw .bareLineEnd }
                let line = start..<scanned
                start = scanned + 2
                scanned = start
                return line
            }
            if scanned - start >= maximumBytes { throw .tooLong }
            scanned += 1
        }
        return nil
    }

    /// Consumes up to `maximum` bytes; empty if there are none.
    mutating func take(upTo maximum: Int) -> [UInt8] {
        let end = start + min(maximum, count)
        let taken = Array(bytes[start..<end])
        start = end
        scanned = end
        if start == bytes.count {
            bytes = []
            start = 0
            scanned = 0
        }
        return taken
    }
}
