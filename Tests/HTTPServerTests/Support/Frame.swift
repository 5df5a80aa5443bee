/// One HTTP/2 frame (RFC 9113 section 4.1).
struct Frame: Equatable, CustomStringConvertible {
    enum Kind: UInt8 {
        case data = 0, headers, priority, rstStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    static let endStream: UInt8 = 1
    static let acknowledge: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    var kind: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        self.kind = kind.rawValue
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    var isEndOfStream: Bool { flags & Frame.endStream != 0 }

    var description: String { "\(kind)/\(flags)@\(stream)[\(payload.count)]" }

    var bytes: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind, flags]
            + Frame.big(stream) + payload
    }

    static func big(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24 & 255), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    static func number(_ bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The whole frames at the front of some bytes.
    static func parse(_ bytes: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(number(head[0..<3]))
            guard rest.count >= 9 + length else { break }
            var frame = Frame(.data, flags: head[4], stream: number(head[5..<9]) & 0x7FFF_FFFF)
            frame.kind = head[3]
            frame.payload = Array(rest.dropFirst(9).prefix(length))
            frames.append(frame)
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    /// SETTINGS with these entries.
    static func settings(_ entries: [(UInt16, UInt32)] = []) -> Frame {
        Frame(.settings, entries.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] + big($1) })
    }

    static func windowUpdate(stream: UInt32, _ increment: UInt32) -> Frame {
        Frame(.windowUpdate, stream: stream, big(increment))
    }

    static func reset(_ stream: UInt32, code: UInt32 = 8) -> Frame {
        Frame(.rstStream, stream: stream, big(code))
    }

    /// A field block of literals that nobody indexes (RFC 7541 section 6.2.2).
    static func fieldBlock(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + string($0) + string($1) }
    }

    private static func string(_ text: String) -> [UInt8] {
        var length = text.utf8.count
        guard length >= 127 else { return [UInt8(length)] + text.utf8 }
        var prefix: [UInt8] = [127]
        length -= 127
        while length >= 128 {
            prefix.append(UInt8(length & 127) | 128)
            length >>= 7
        }
        return prefix + [UInt8(length)] + text.utf8
    }

    /// A push's HEADERS, with `host` and without `:authority`, as aioapns sends them.
    static func push(
        stream: UInt32, method: String = "POST", fields: [(String, String)] = [], isEnd: Bool = false,
        isHeadEnd: Bool = true
    ) -> Frame {
        let block = fieldBlock(
            [(":method", method), (":scheme", "https"), (":path", "/3/device/00ff"), ("host", "localhost")] + fields)
        return Frame(
            .headers, flags: (isEnd ? endStream : 0) | (isHeadEnd ? endHeaders : 0), stream: stream, block)
    }
}
