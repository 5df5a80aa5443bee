extension ConformanceRow {
    private static let zeros = [UInt8](repeating: 0, count: 16_385)
    private static let eightZeros = [UInt8](repeating: 0, count: 8)
    private static let ones = [UInt8](repeating: 0xFF, count: 20)

    /// RFC 9113 sections 4 to 6, and RFC 7541.
    static let frames: [ConformanceRow] = [
        .init("4.1", "the reserved bit of a stream's number", .served, head(stream: 0x8000_0001)),
        .init("4.1", "a frame of an unknown type", .served, unknown(type: 0xAA), head()),
        .init("4.1", "flags that PING does not have", .served, Frame(.ping, flags: 0xFE, eightZeros), head()),
        .init("4.2", "DATA longer than we allow", .connectionError(Code.frameSize), held(isEnd: false), data(zeros)),
        .init("4.2", "HEADERS longer than we allow", .connectionError(Code.frameSize), block(zeros)),
        .init("4.2", "an unknown frame longer than we allow", .connectionError(Code.frameSize), unknown(zeros)),
        .init(
            "4.3", "another frame within a field block", .connectionError(Code.protocol), head(isHeadEnd: false),
            Frame(.ping, eightZeros)),
        .init(
            "4.3", "another stream's HEADERS within a field block", .connectionError(Code.protocol),
            head(isHeadEnd: false), head(stream: 3)),
        .init(
            "4.3", "another stream's CONTINUATION within a field block", .connectionError(Code.protocol),
            head(isHeadEnd: false), Frame(.continuation, flags: Frame.endHeaders, stream: 3)),
        .init(
            "4.3", "an unknown frame within a field block", .connectionError(Code.protocol), head(isHeadEnd: false),
            unknown()),
        .init("5.1", "DATA on an idle stream", .connectionError(Code.protocol), data()),
        .init("5.1", "RST_STREAM on an idle stream", .connectionError(Code.protocol), .reset(1)),
        .init("5.1", "WINDOW_UPDATE on an idle stream", .connectionError(Code.protocol), .windowUpdate(stream: 1, 1)),
        // Stream errors, which a server may treat as connection errors (section 5.4.1): nghttp2 does.
        .init("5.1", "DATA after the request's end", .connectionError(Code.streamClosed), held(), data()),
        .init("5.1", "HEADERS after the request's end", .connectionError(Code.streamClosed), held(), head()),
        .init("5.1", "RST_STREAM after the request's end", .ignored, held(), .reset(1)),
        .init("5.1", "WINDOW_UPDATE after the request's end", .ignored, held(), .windowUpdate(stream: 1, 1)),
        .init("5.1", "WINDOW_UPDATE on a closed stream", .ignored, held(), .reset(1), .windowUpdate(stream: 1, 1)),
        .init("5.1", "RST_STREAM on a closed stream", .ignored, held(), .reset(1), .reset(1)),
        .init("5.1.1", "a stream of an even number", .connectionError(Code.protocol), head(stream: 2)),
        .init("5.1.1", "a closed stream's number again", .connectionError(Code.protocol), held(), .reset(1), head()),
        .init("5.1.1", "a number below the last one", .connectionError(Code.protocol), head(stream: 3), head()),
        .init("5.3", "PRIORITY of an idle stream", .served, Frame(.priority, stream: 1, [0, 0, 0, 0, 1]), head()),
        .init("6.1", "DATA on stream 0", .connectionError(Code.protocol), data(stream: 0)),
        .init(
            "6.1", "padding longer than DATA", .connectionError(Code.protocol), held(isEnd: false),
            Frame(.data, flags: 9, stream: 1, [5, 0, 0])),
        .init(
            "6.1", "DATA too short for its padding's length", .connectionError(Code.protocol), held(isEnd: false),
            Frame(.data, flags: 9, stream: 1, [])),
        .init("6.2", "HEADERS on stream 0", .connectionError(Code.protocol), head(stream: 0)),
        .init(
            "6.2", "padding longer than HEADERS", .connectionError(Code.protocol),
            Frame(.headers, flags: 0xD, stream: 1, [0xFF, 0x82])),
        .init("6.3", "PRIORITY on stream 0", .connectionError(Code.protocol), Frame(.priority, [0, 0, 0, 0, 1])),
        .init(
            "6.4", "RST_STREAM on stream 0", .connectionError(Code.protocol), .reset(0)),
        .init(
            "6.4", "RST_STREAM of another length", .connectionError(Code.frameSize), held(),
            Frame(.rstStream, stream: 1, [0, 0, 0])),
        .init("6.5", "SETTINGS on a stream", .connectionError(Code.protocol), Frame(.settings, stream: 1)),
        .init("6.5", "SETTINGS of another length", .connectionError(Code.frameSize), Frame(.settings, [0, 1, 0])),
        .init(
            "6.5", "an acknowledgement with settings", .connectionError(Code.frameSize),
            Frame(.settings, flags: Frame.acknowledge, [0, 3, 0, 0, 0, 1])),
        .init("6.5.2", "ENABLE_PUSH above 1", .connectionError(Code.protocol), setting(2, 2)),
        .init("6.5.2", "INITIAL_WINDOW_SIZE above 2^31-1", .connectionError(Code.flowControl), setting(4, 1 << 31)),
        .init("6.5.2", "MAX_FRAME_SIZE below the minimum", .connectionError(Code.protocol), setting(5, 16_383)),
        .init("6.5.2", "MAX_FRAME_SIZE above the maximum", .connectionError(Code.protocol), setting(5, 1 << 24)),
        .init("6.5.2", "an unknown setting", .served, setting(0xFF, 1), head()),
        .init(
            "6.6", "PUSH_PROMISE of a client", .connectionError(Code.protocol), held(isEnd: false),
            Frame(.pushPromise, flags: Frame.endHeaders, stream: 1, [0, 0, 0, 2, 0x82])),
        .init("6.7", "PING on a stream", .connectionError(Code.protocol), Frame(.ping, stream: 1, eightZeros)),
        .init("6.7", "PING of another length", .connectionError(Code.frameSize), Frame(.ping, [0, 0, 0, 0, 0, 0])),
        .init(
            "6.7", "an acknowledgement of no PING", .served,
            Frame(.ping, flags: Frame.acknowledge, eightZeros), head()),
        .init("6.8", "GOAWAY on a stream", .connectionError(Code.protocol), Frame(.goAway, stream: 1, eightZeros)),
        .init("6.8", "GOAWAY that is too short", .connectionError(Code.frameSize), Frame(.goAway, [0, 0, 0, 0])),
        .init("6.9", "WINDOW_UPDATE of zero", .connectionError(Code.protocol), .windowUpdate(stream: 0, 0)),
        // A stream error, which a server may treat as a connection error (section 5.4.1): nghttp2 does.
        .init(
            "6.9", "WINDOW_UPDATE of zero on a stream", .connectionError(Code.protocol), held(),
            .windowUpdate(stream: 1, 0)),
        .init(
            "6.9", "WINDOW_UPDATE of another length", .connectionError(Code.frameSize), Frame(.windowUpdate, [0, 0, 1])),
        .init(
            "6.9.1", "a connection's window above the maximum", .connectionError(Code.flowControl),
            .windowUpdate(stream: 0, 0x7FFF_FFFF)),
        .init(
            "6.9.1", "a stream's window above the maximum", .streamError(Code.flowControl), held(),
            .windowUpdate(stream: 1, 0x7FFF_FFFF)),
        // The RFC demands a connection error; nghttp2 resets each such stream.
        .init(
            "6.9.2", "a stream's window above the maximum by a setting", .streamError(Code.flowControl), held(),
            .windowUpdate(stream: 1, 1), setting(4, 0x7FFF_FFFF)),
        .init(
            "6.10", "CONTINUATION of nothing", .connectionError(Code.protocol),
            Frame(.continuation, flags: Frame.endHeaders, stream: 1, [0x82])),
        .init(
            "6.10", "CONTINUATION after the block's end", .connectionError(Code.protocol), held(isEnd: false),
            Frame(.continuation, flags: Frame.endHeaders, stream: 1, [0x82])),
        .init(
            "6.10", "CONTINUATION on stream 0", .connectionError(Code.protocol), head(isHeadEnd: false),
            Frame(.continuation, flags: Frame.endHeaders, [0x82])),
        .init("RFC 7541 2.3.3", "an index beyond the tables", .connectionError(Code.compression), block([0x82, 0xFE])),
        .init("RFC 7541 6.1", "the index 0", .connectionError(Code.compression), block([0x82, 0x80])),
        .init("RFC 7541 5.1", "an integer without end", .connectionError(Code.compression), block(ones)),
        .init(
            "RFC 7541 5.2", "EOS within a text", .connectionError(Code.compression),
            block([0x00, 0x84, 0xFF, 0xFF, 0xFF, 0xFF])),
        .init(
            "RFC 7541 5.2", "padding that is not of ones", .connectionError(Code.compression),
            block([0x00, 0x81, 0x00])),
        .init(
            "RFC 7541 5.2", "padding of more than seven bits", .connectionError(Code.compression),
            block([0x00, 0x82, 0x1F, 0xFF])),
        .init(
            "RFC 7541 5.2", "a text that the block cuts", .connectionError(Code.compression), block([0x00, 0x05, 0x61])),
        .init(
            "RFC 7541 6.3", "a table larger than we allow", .connectionError(Code.compression),
            block([0x3F, 0xE2, 0x1F])),
        .init("RFC 7541 4.2", "a table's size after a field", .connectionError(Code.compression), block([0x82, 0x20])),
    ]

    private static func unknown(_ payload: [UInt8] = [1, 2, 3], type: UInt8 = 0x77) -> Frame {
        var frame = Frame(.data, payload)
        frame.kind = type
        return frame
    }

    /// RFC 9113 section 8.
    static let fields: [ConformanceRow] =
        [
            .init("8.1", "a request with a body", .served, head(isEnd: false), data()),
            .init(
                "8.1", "a request with trailers", .served, head(isEnd: false), data(isEnd: false), head([("x", "1")])),
            malformed(
                "8.1", "trailers that do not end the request", head(isEnd: false), head([("x", "1")], isEnd: false)),
            malformed("8.1", "a pseudo-field in trailers", head(isEnd: false), head([(":method", "POST")])),
            .init(
                "8.1.1", "content-length of the body", .served, head(adding: [("content-length", "2")], isEnd: false),
                data()),
            malformed("8.1.1", "content-length without a body", head(adding: [("content-length", "2")])),
            malformed(
                "8.1.1", "content-length beyond the body", head(adding: [("content-length", "5")], isEnd: false),
                data(isEnd: false), data()),
            malformed(
                "8.1.1", "content-length below the body", head(adding: [("content-length", "3")], isEnd: false),
                data(isEnd: false), data()),
            malformed("8.1.1", "two lengths", head(adding: [("content-length", "0"), ("content-length", "1")])),
            malformed("8.1.1", "a length that is no number", head(adding: [("content-length", "-1")])),
            .init("8.2.2", "te: trailers", .served, head(adding: [("te", "trailers")])),
            malformed("8.2.2", "te of anything else", head(adding: [("te", "gzip")])),
            .init("8.3.1", "host in the place of :authority", .served, head(Array(usual.dropLast()) + [("host", "a")])),
            malformed("8.3", "an unknown pseudo-field", head(usual + [(":unknown", "1")])),
            malformed("8.3", "a pseudo-field of answers", head(usual + [(":status", "200")])),
            malformed("8.3", "a pseudo-field after a field", head([("x", "1")] + usual)),
            malformed("8.3.1", "an empty path", head(replacing(":path", ""))),
            malformed("8.5", "CONNECT with scheme and path", head(replacing(":method", "CONNECT"))),
        ]
        + usual.map { malformed("8.3", "\($0.0) twice", head(usual + [$0])) }
        + usual.dropLast().map { field in
            malformed("8.3.1", "no \(field.0)", head(usual.filter { $0.0 != field.0 }))
        }
        + ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"].map {
            malformed("8.2.2", "the field \($0) of a connection", head(adding: [($0, "close")]))
        }
        + ["X-Upper", "with space", "with\0zero", "with:colon", ""].map {
            malformed("8.2.1", "the name '\($0)'", head(adding: [($0, "1")]))
        }
        + ["with\0zero", "with\nline", "with\rreturn"].map {
            malformed("8.2.1", "a value \($0.prefix { $0.isLetter }) a control character", head(adding: [("x", $0)]))
        }

    private static func malformed(_ section: String, _ what: String, _ frames: Frame...) -> ConformanceRow {
        ConformanceRow(section, what, .streamError(Code.protocol), frames)
    }

    private static func replacing(_ name: String, _ value: String) -> [(String, String)] {
        usual.map { $0.0 == name ? (name, value) : $0 }
    }
}
