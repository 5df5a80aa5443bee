/// What a client sends after its preface and SETTINGS, and what a server has to do with it.
struct ConformanceRow {
    /// What a server does. Streams are those that the row opens first: number 1.
    enum Reaction: Equatable, CustomStringConvertible {
        /// A connection error: GOAWAY with this code, and the end.
        case connectionError(UInt32)
        /// A stream error: RST_STREAM with this code; the connection goes on.
        case streamError(UInt32)
        /// The request is answered.
        case served
        /// Nothing; the connection goes on.
        case ignored

        var description: String {
            switch self {
            case .connectionError(let code): "connection error \(code)"
            case .streamError(let code): "stream error \(code)"
            case .served: "served"
            case .ignored: "ignored"
            }
        }
    }

    /// Error codes (RFC 9113 section 7).
    enum Code {
        static let `protocol`: UInt32 = 1
        static let flowControl: UInt32 = 3
        static let streamClosed: UInt32 = 5
        static let frameSize: UInt32 = 6
        static let compression: UInt32 = 9
    }

    /// Section of RFC 9113, or of another that is named.
    let section: String
    let what: String
    let frames: [Frame]
    let reaction: Reaction

    init(_ section: String, _ what: String, _ reaction: Reaction, _ frames: Frame...) {
        self.init(section, what, reaction, frames)
    }

    init(_ section: String, _ what: String, _ reaction: Reaction, _ frames: [Frame]) {
        self.section = section
        self.what = what
        self.frames = frames
        self.reaction = reaction
    }

    // MARK: - Frames

    /// The path of a request that is not answered before the test's end.
    static let heldPath = "/held"
    static let usual = [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "localhost")]

    /// HEADERS with these fields.
    static func head(
        _ fields: [(String, String)] = usual, stream: UInt32 = 1, isEnd: Bool = true, isHeadEnd: Bool = true
    ) -> Frame {
        block(Frame.fieldBlock(fields), stream: stream, isEnd: isEnd, isHeadEnd: isHeadEnd)
    }

    /// HEADERS with a field block in bytes.
    static func block(_ bytes: [UInt8], stream: UInt32 = 1, isEnd: Bool = true, isHeadEnd: Bool = true) -> Frame {
        Frame(
            .headers, flags: (isEnd ? Frame.endStream : 0) | (isHeadEnd ? Frame.endHeaders : 0), stream: stream, bytes)
    }

    /// HEADERS with the usual fields, and others.
    static func head(adding fields: [(String, String)], isEnd: Bool = true) -> Frame {
        head(usual + fields, isEnd: isEnd)
    }

    /// A request that stays open on the server's side.
    static func held(isEnd: Bool = true) -> Frame {
        head(usual.map { $0.0 == ":path" ? ($0.0, heldPath) : $0 }, isEnd: isEnd)
    }

    static func data(_ bytes: [UInt8] = [1, 2], stream: UInt32 = 1, isEnd: Bool = true) -> Frame {
        Frame(.data, flags: isEnd ? Frame.endStream : 0, stream: stream, bytes)
    }

    static func setting(_ identifier: UInt16, _ value: UInt32) -> Frame { .settings([(identifier, value)]) }
}
