import CRingwakeNGHTTP2

/// The settings of this end: those that Apple's servers send.
enum HTTP2Settings {
    /// Receive window of the connection: every allowed stream may send a whole VoIP payload before we have read a byte.
    /// A window isn't a buffer; ``BufferBudget`` limits what is kept.
    private static let connectionWindowBytes: Int32 = 8 * 1024 * 1024
    /// The stream limit that nghttp2 is given; see ``announce(_:in:)``.
    private static let streamsAllowedByLibrary: UInt32 = 1 << 20
    private static let frameHeaderBytes = 9
    private static let entryBytes = 6

    /// Submits SETTINGS and the connection's window. MAX_HEADER_LIST_SIZE is only advisory; the enforced limit is
    /// higher.
    ///
    /// - Returns: false if there is no memory.
    static func submit(to session: OpaquePointer) -> Bool {
        let settings = [
            nghttp2_settings_entry(settings_id: identifier(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE), value: 4096),
            nghttp2_settings_entry(
                settings_id: identifier(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), value: streamsAllowedByLibrary),
            nghttp2_settings_entry(settings_id: identifier(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), value: 65535),
            nghttp2_settings_entry(settings_id: identifier(NGHTTP2_SETTINGS_MAX_FRAME_SIZE), value: 16384),
            nghttp2_settings_entry(settings_id: identifier(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE), value: 8000),
        ]
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        return nghttp2_submit_settings(session, flags, settings, settings.count) == 0
            && nghttp2_session_set_local_window_size(session, flags, 0, connectionWindowBytes) == 0
    }

    /// Writes the real MAX_CONCURRENT_STREAMS into the SETTINGS frame that is about to be sent.
    ///
    /// A client that exceeds the limit should lose only that stream (RFC 9113 section 5.1.2). nghttp2 would close the
    /// connection, with every push on it. So nghttp2 gets a limit that is never reached, and the session refuses the
    /// streams above the real one.
    ///
    /// - Returns: whether the frame was SETTINGS, as the first frame of a session is.
    static func announce(_ maximumConcurrentStreams: UInt32, in frame: UnsafeMutableRawBufferPointer) -> Bool {
        guard frame.count >= frameHeaderBytes, frame[3] == NGHTTP2_SETTINGS.rawValue else { return false }
        var offset = frameHeaderBytes
        while offset + entryBytes <= frame.count {
            let entry = UInt32(frame[offset]) << 8 | UInt32(frame[offset + 1])
            if entry == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue {
                for byte in 0..<4 {
                    frame[offset + 2 + byte] = UInt8(
                        truncatingIfNeeded: maximumConcurrentStreams >> (24 - 8 * UInt32(byte)))
                }
            }
            offset += entryBytes
        }
        return true
    }

    private static func identifier(_ setting: nghttp2_settings_id) -> Int32 {
        Int32(truncatingIfNeeded: setting.rawValue)
    }
}
