import Glibc

/// Bytes that a connection has still to send.
nonisolated struct OutputBuffer {
    private var bytes: [UInt8] = []

    var count: Int { bytes.count }
    var isEmpty: Bool { bytes.isEmpty }

    mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    mutating func clear() { bytes = [] }

    /// Sends as much as the kernel accepts. Returns false if the peer is gone.
    mutating func send(to descriptor: Int32) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                // MSG_NOSIGNAL: if the peer is gone, get an error instead of a signal.
                Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                written += count
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                return false
            }
        }
        if written == bytes.count {
            bytes = []
        } else {
            bytes.removeFirst(written)
        }
        return true
    }
}
