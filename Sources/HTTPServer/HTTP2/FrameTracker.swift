import CRingwakeNGHTTP2

/// Follows the boundaries of the frames that a client sends (RFC 9113 section 4.1), and nothing of their contents.
///
/// nghttp2 does not tell where in its input it stands, and after a stream's reset it takes the rest of the header
/// block silently. A frame, or a block of HEADERS and CONTINUATION, that was begun must arrive in time; this knows
/// whether one has begun.
nonisolated struct FrameTracker {
    private static let prefaceBytes = 24
    private static let headerBytes = 9
    /// Those before the stream's number: length, type, flags.
    private static let usefulHeaderBytes = 5

    private var prefaceLeft = FrameTracker.prefaceBytes
    private var headerCount = 0
    private var header: UInt64 = 0
    private var payloadLeft = 0
    private var isHeaderBlockOpen = false

    /// Whether everything that was begun is complete.
    var isAtBoundary: Bool { headerCount == 0 && payloadLeft == 0 && !isHeaderBlockOpen }

    /// Takes received bytes.
    ///
    /// - Returns: whether a boundary was passed within them.
    mutating func consume(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var hasPassedBoundary = false
        var position = min(prefaceLeft, bytes.count)
        prefaceLeft -= position
        while position < bytes.count {
            if payloadLeft > 0 {
                let count = min(payloadLeft, bytes.count - position)
                payloadLeft -= count
                position += count
            } else {
                takeHeader(bytes[position])
                position += 1
            }
            if isAtBoundary {
                hasPassedBoundary = true
            }
        }
        return hasPassedBoundary
    }

    /// Takes one byte of a frame header.
    private mutating func takeHeader(_ byte: UInt8) {
        if headerCount < FrameTracker.usefulHeaderBytes {
            header = header << 8 | UInt64(byte)
        }
        headerCount += 1
        guard headerCount == FrameTracker.headerBytes else { return }
        payloadLeft = Int(truncatingIfNeeded: header >> 16)
        let type = UInt32(truncatingIfNeeded: header >> 8 & 0xFF)
        let flags = UInt32(truncatingIfNeeded: header & 0xFF)
        if type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_CONTINUATION.rawValue {
            isHeaderBlockOpen = flags & NGHTTP2_FLAG_END_HEADERS.rawValue == 0
        }
        headerCount = 0
        header = 0
    }
}
