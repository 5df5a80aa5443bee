import CRingwakeNGHTTP2

/// Tracks the boundaries of the frames that a client sends (RFC 9113 section 4.1), without their contents.
///
/// nghttp2 doesn't report its position in the input, and after a stream reset it silently consumes the rest of the
/// header block. A frame, or a block of HEADERS and CONTINUATION, has to arrive in time once it has begun. This tracks
/// whether one has begun. It also counts the frames, because nghttp2 doesn't report each of them.
nonisolated struct FrameTracker {
    /// The frames so far.
    var rates = FrameRates()

    private static let prefaceBytes = 24
    private static let headerBytes = 9
    /// The header's bytes before the stream ID: length, type, flags.
    private static let usefulHeaderBytes = 5

    private var prefaceLeft = FrameTracker.prefaceBytes
    private var headerCount = 0
    private var header: UInt64 = 0
    private var payloadLeft = 0
    private var isHeaderBlockOpen = false

    /// Whether all frames and header blocks are complete.
    var isAtBoundary: Bool { headerCount == 0 && payloadLeft == 0 && !isHeaderBlockOpen }

    /// Processes received bytes.
    ///
    /// - Returns: whether they contain a boundary.
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

    /// Processes one byte of a frame header.
    private mutating func takeHeader(_ byte: UInt8) {
        if headerCount < FrameTracker.usefulHeaderBytes {
            header = header << 8 | UInt64(byte)
        }
        headerCount += 1
        guard headerCount == FrameTracker.headerBytes else { return }
        payloadLeft = Int(truncatingIfNeeded: header >> 16)
        let type = UInt32(truncatingIfNeeded: header >> 8 & 0xFF)
        let flags = UInt32(truncatingIfNeeded: header & 0xFF)
        rates.count(type: type)
        if type == NGHTTP2_HEADERS.rawValue || type == NGHTTP2_CONTINUATION.rawValue {
            isHeaderBlockOpen = flags & NGHTTP2_FLAG_END_HEADERS.rawValue == 0
        }
        headerCount = 0
        header = 0
    }
}
