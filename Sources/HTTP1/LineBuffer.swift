/// Received bytes, taken out line by line or in pieces; each byte is looked at once.
struct LineBuffer {
    /// What is wrong with a line.
    enum Fault: Error {
        /// It has no end within the limit.
        case tooLong
        /// A CR without LF or an LF without CR.
        case bareLineEnd
    }

    private(set) var bytes: [UInt8] = []
    /// The first byte that was not taken.
    private var start = 0
    /// Before it, and from `start`, there is no end of line.
    private var scanned = 0

    /// Bytes that were received and not taken.
    var count: Int { bytes.count - start }

    /// Below this a used-up front is not worth moving the rest.
    private static let compactionThreshold = 4 * 1024

    mutating func append(contentsOf new: some Collection<UInt8>) {
        if start == bytes.count {
            // An idle connection keeps no buffer.
            bytes = []
            start = 0
            scanned = 0
        } else if start > LineBuffer.compactionThreshold && start > bytes.count / 2 {
            // More is dropped than moved, so that the cost stays linear.
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Takes a line that ends with CRLF.
    ///
    /// - Returns: where in ``bytes`` the line is, without its end and valid until the next `append`; nil when its
    ///   end has not arrived.
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

    /// Takes up to so many bytes; empty when there are none.
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

    /// The text of a line that ``takeLine(maximumBytes:)`` returned; bytes that are not UTF-8 become U+FFFD.
    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }
}
