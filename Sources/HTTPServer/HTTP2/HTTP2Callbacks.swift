import CRingwakeNGHTTP2

/// The callbacks of nghttp2. Each finds its target in the user data. Header fields are collected there; everything else
/// is forwarded to the session, as main-actor code.
///
/// A C callback must be nonisolated: a main-actor closure compiles, but traps in a library's own thread. nghttp2 has no
/// threads, and calls back only within the session's own calls.
nonisolated enum HTTP2Callbacks {
    static func install(in callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, beginFrame)
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, header)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameReceived)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, dataReceived)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameSent)
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalidFrame)
    }

    /// Reads a piece of an answer's body, for `nghttp2_data_provider`.
    static let readBody: nghttp2_data_source_read_callback = { _, streamID, buffer, length, flags, _, userData in
        guard let buffer, let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let piece = onMainActor(userData, UnsafeMutableRawBufferPointer(start: buffer, count: length)) {
            $0.readBody(of: streamID, into: $1)
        }
        switch piece {
        case .bytes(let count, let isEnd):
            if isEnd {
                flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
            }
            return count
        case .later:
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        case .gone:
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
    }

    private static let beginFrame: nghttp2_on_begin_frame_callback = { _, header, userData in
        guard let header else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        if UInt32(header.pointee.type) == NGHTTP2_HEADERS.rawValue,
            !target(userData).beginFrame(streamID: header.pointee.stream_id)
        {
            onMainActor(userData, ()) { session, _ in session.closedStreamReused() }
        }
        return 0
    }

    private static let beginHeaders: nghttp2_on_begin_headers_callback = { _, frame, userData in
        guard let frame else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        target(userData).beginHead(isRequest: frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST)
        return 0
    }

    private static let header: nghttp2_on_header_callback = { _, _, name, nameLength, value, valueLength, _, userData in
        let isTaken = target(userData).add(
            name: UnsafeBufferPointer(start: name, count: nameLength),
            value: UnsafeBufferPointer(start: value, count: valueLength))
        // nghttp2 then resets the stream, and processes the rest of the block only to keep the compression state
        // correct.
        return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { _, frame, userData in
        guard let frame else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        let header = frame.pointee.hd
        let isEndOfStream = UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        if isEndOfStream || UInt32(header.type) == NGHTTP2_RST_STREAM.rawValue {
            target(userData).streamFinished(header.stream_id)
        }
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            onMainActor(userData, ()) { session, _ in
                session.headReceived(streamID: header.stream_id, isEndOfStream: isEndOfStream)
            }
        case NGHTTP2_DATA.rawValue where isEndOfStream:
            onMainActor(userData, ()) { session, _ in session.requestEnded(streamID: header.stream_id) }
        case NGHTTP2_SETTINGS.rawValue:
            onMainActor(userData, ()) { session, _ in session.settingsReceived() }
        case NGHTTP2_RST_STREAM.rawValue:
            onMainActor(userData, ()) { session, _ in session.resetReceived(streamID: header.stream_id) }
        case NGHTTP2_WINDOW_UPDATE.rawValue where header.stream_id == 0:
            onMainActor(userData, ()) { session, _ in session.connectionWindowGrew() }
        default:
            break
        }
        return 0
    }

    private static let dataReceived: nghttp2_on_data_chunk_recv_callback = { _, _, streamID, data, length, userData in
        onMainActor(userData, UnsafeBufferPointer(start: data, count: length)) {
            $0.dataReceived($1, streamID: streamID)
        }
        return 0
    }

    private static let streamClosed: nghttp2_on_stream_close_callback = { _, streamID, _, userData in
        onMainActor(userData, ()) { session, _ in session.streamClosed(streamID) }
        return 0
    }

    private static let frameSent: nghttp2_on_frame_send_callback = { pointer, frame, userData in
        guard let pointer, let frame else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
                nghttp2_session_get_stream_remote_close(pointer, header.stream_id) == 0
            {
                onMainActor(userData, ()) { session, _ in session.answeredEarly(streamID: header.stream_id) }
            }
        case NGHTTP2_RST_STREAM.rawValue where frame.pointee.rst_stream.error_code != NGHTTP2_NO_ERROR.rawValue:
            onMainActor(userData, ()) { session, _ in session.countGlitch() }
        default:
            break
        }
        return 0
    }

    private static let invalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, _, _, userData in
        onMainActor(userData, ()) { session, _ in session.countGlitch() }
        return 0
    }

    private static func target(_ userData: UnsafeMutableRawPointer?) -> HTTP2CallbackTarget {
        guard let userData else { preconditionFailure("a session always has its user data") }
        return Unmanaged<HTTP2CallbackTarget>.fromOpaque(userData).takeUnretainedValue()
    }

    private static func onMainActor<Argument, Result: Sendable>(
        _ userData: UnsafeMutableRawPointer?, _ argument: Argument,
        _ body: @MainActor (HTTP2Session, Argument) -> Result
    ) -> Result {
        let session = target(userData).session
        // Safe: assumeIsolated stays on this thread, and returns before this function does.
        nonisolated(unsafe) let argument = argument
        return MainActor.assumeIsolated { body(session, argument) }
    }
}
