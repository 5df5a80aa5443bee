import Glibc

/// Looks at what has arrived on a socket, without a protocol.
package enum SocketInput {
    /// The result of one read(2).
    enum Read {
        case bytes([UInt8])
        /// The peer sends no more.
        case end
        /// Nothing has arrived.
        case nothing
        case broken(why: String)
    }

    static func read(from descriptor: Int32, using buffer: ScratchBuffer) -> Read {
        while true {
            let count = Glibc.read(descriptor, buffer.bytes.baseAddress, buffer.bytes.count)
            if count > 0 { return .bytes(Array(buffer.bytes[..<count])) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .broken(why: SystemCallError.last.reason)
            }
        }
    }

    /// Whether bytes have arrived that haven't been read.
    package static func isWaiting(on descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }

    /// Reads and drops what has arrived: at most as much as a busy sender has on its way.
    static func discardAll(from descriptor: Int32, using buffer: ScratchBuffer) {
        for _ in 0..<64 {
            if Glibc.read(descriptor, buffer.bytes.baseAddress, buffer.bytes.count) <= 0 { return }
        }
    }

    /// Reads and drops bytes. Returns false at the end, and after an error.
    static func discard(from descriptor: Int32, using buffer: ScratchBuffer) -> Bool {
        let count = Glibc.read(descriptor, buffer.bytes.baseAddress, buffer.bytes.count)
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
    }
}
