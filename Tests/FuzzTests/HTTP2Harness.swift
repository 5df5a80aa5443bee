import CRingwakeNGHTTP2
import Logging
import RunLoop

@testable import HTTPServer

/// HTTP/2 of the push port, without socket and TLS: a session reads what a client sends after its connection preface
/// (RFC 9113 section 3.4).
enum HTTP2Harness {
    static let session = Harness("http2-session", maximumBytes: 4096) { input in
        try checkTracker(input)
        let whole = try serve([input[...]], answering: false)
        for pieces in Cuts.of(input) {
            let other = try serve(pieces, answering: false)
            // nghttp2 1.52 counts the pieces of a CONTINUATION's header as frames, against a flood of them.
            let isMiscounted = other.failure?.contains("CONTINUATION") == true && whole.failure == nil
            if !isMiscounted { try requireEqual(other, whole, "other pieces, another outcome") }
            _ = try serve(pieces, answering: true)
        }
        return !whole.requests.isEmpty && whole.failure == nil && whole.goAway == nil
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Small, so that short inputs reach them.
    private static let limits: ConnectionLimits = {
        var limits = ConnectionLimits()
        limits.maximumConcurrentStreams = 6
        limits.maximumHeaderListBytes = 1024
        limits.maximumFieldBlockBytes = 4096
        limits.maximumHeaderFields = 12
        limits.maximumBodyBytes = 256
        limits.maximumDiscardedBodyBytes = 256
        return limits
    }()

    private static let shared = Result {
        try HTTP2ListenerContext(
            runLoop: RunLoop(), limits: limits, budget: BufferBudget(capacity: 80 * 1024), bounds: BoundCounters(),
            logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in Receiver(isAnswering: false) }
    }

    /// What a client sees, and what the handler got.
    private struct Outcome: Equatable {
        var requests: [Receiver.Request] = []
        var failure: String?
        /// Streams that were reset, with the error code.
        var resets: [UInt32: UInt32] = [:]
        /// The error code of the first GOAWAY.
        var goAway: UInt32?
    }

    /// - Parameter answering: whether requests are answered as they arrive, and output is fetched after each piece.
    ///   What happens then depends on the pieces.
    private static func serve(_ pieces: [ArraySlice<UInt8>], answering: Bool) throws -> Outcome {
        let shared = try shared.get()
        let receiver = Receiver(isAnswering: answering)
        let session = try HTTP2Session(shared: shared, handler: receiver) { _ in }
        var outcome = Outcome()
        var output = produce(session)
        for piece in [preface[...]] + pieces where outcome.failure == nil && !session.isFinished {
            outcome.failure = piece.withUnsafeBytes { session.receive($0) }
            if answering { output += produce(session) }
        }
        outcome.requests = receiver.requests
        output += produce(session)
        receiver.answerAll()
        output += produce(session)
        session.goAway(GoAway("Shutdown"))
        output += produce(session)
        session.end()
        try require(session.streams.isEmpty, "an ended session has streams")
        try requireEqual(shared.budget.used, 0, "an ended session holds bytes of the budget")
        try require(receiver.areAllClosed, "an exchange is open after the session's end")
        for request in outcome.requests { try check(request) }
        try readFrames(output, into: &outcome)
        return outcome
    }

    private static func produce(_ session: HTTP2Session) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 256 * 1024) { buffer, count in
            let made = session.produce(into: UnsafeMutableRawBufferPointer(buffer))
            precondition(made != nil, "a frame is too large to be sent")
            count = made ?? 0
        }
    }

    private static func check(_ request: Receiver.Request) throws {
        try require(!request.method.isEmpty, "a request has no method")
        try require(!request.path.isEmpty || request.method == "CONNECT", "a request has no path")
        try require(request.body.count <= limits.maximumBodyBytes, "a body is longer than the limit")
        try require(
            !request.isBodyTruncated || request.body.count == limits.maximumBodyBytes, "a short body was cut")
        try require(request.fields.count <= limits.maximumHeaderFields, "there are more fields than the limit")
        let bytes = request.fields.reduce(0) { $0 + $1.name.utf8.count + 32 }
        try require(bytes <= limits.maximumHeaderListBytes, "the fields are longer than the limit")
        for field in request.fields {
            let isName = field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !(0x41...0x5A).contains($0) }
            try require(isName && !field.name.hasPrefix(":"), "'\(field.name)' is no field's name")
            try require(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a value has a line end")
        }
    }

    /// Whole frames, and at most one answer to each stream.
    private static func readFrames(_ output: [UInt8], into outcome: inout Outcome) throws {
        var answered: Set<UInt32> = []
        var rest = output[...]
        var isFirst = true
        while !rest.isEmpty {
            let head = Array(rest.prefix(9))
            try require(head.count == 9, "the output ends within a frame's header")
            let length = Int(number(head[0..<3]))
            let stream = number(head[5..<9])
            let payload = Array(rest.dropFirst(9).prefix(length))
            try require(payload.count == length && length <= 16_384, "a frame is cut or too long")
            try require(!isFirst || head[3] == 4, "the first frame is not SETTINGS")
            isFirst = false
            rest = rest.dropFirst(9 + length)
            switch head[3] {
            case 1:
                try require(stream % 2 == 1 && answered.insert(stream).inserted, "a stream got two answers")
            case 3: outcome.resets[stream] = number(payload)
            case 7: if outcome.goAway == nil, number(payload[4..<8]) != 0 { outcome.goAway = number(payload[4..<8]) }
            default: break
            }
        }
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// The tracker is at the same place however the bytes come.
    private static func checkTracker(_ input: [UInt8]) throws {
        let all = preface + input
        var whole = FrameTracker()
        let hasPassed = all.withUnsafeBytes { whole.consume($0) }
        for pieces in Cuts.of(all) {
            var tracker = FrameTracker()
            var hasPassedHere = false
            for piece in pieces where piece.withUnsafeBytes({ tracker.consume($0) }) { hasPassedHere = true }
            try requireEqual(tracker.isAtBoundary, whole.isAtBoundary, "other pieces, another boundary")
            try requireEqual(hasPassedHere, hasPassed, "other pieces, another boundary passed")
        }
    }
}

/// A handler that answers its requests in each of the ways there are.
private final class Receiver: HTTPConnectionHandler {
    struct Request: Equatable {
        let method: String
        let path: String
        let fields: [HTTPField]
        let body: [UInt8]
        let isBodyTruncated: Bool
    }

    private(set) var requests: [Request] = []
    private var exchanges: [any HTTPExchange] = []
    private let isAnswering: Bool

    init(isAnswering: Bool) {
        self.isAnswering = isAnswering
    }

    var areAllClosed: Bool { exchanges.allSatisfy { !$0.isOpen } }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        requests.append(
            Request(
                method: request.method, path: request.path, fields: request.fields, body: request.body,
                isBodyTruncated: request.isBodyTruncated))
        exchanges.append(exchange)
        if isAnswering { answer(exchanges.count - 1) }
    }

    func connectionClosed() {}

    /// Answers what was left open.
    func answerAll() {
        for exchange in exchanges.reversed() { exchange.respond(HTTPResponse(status: 503)) }
    }

    private func answer(_ index: Int) {
        let exchange = exchanges[index]
        switch index % 5 {
        case 0: exchange.respond(HTTPResponse(status: 200, fields: [HTTPField(name: "apns-id", value: "1")]))
        case 1: exchange.respond(HTTPResponse(status: 400, body: Array("{\"reason\":\"BadPath\"}".utf8)))
        case 2:
            exchange.beginStream(status: 200, fields: [])
            _ = exchange.send(Array(repeating: 0x61, count: 20_000))
            exchange.finish()
        case 3: exchanges[index / 2].respond(HTTPResponse(status: 500, body: [1, 2, 3]))
        default: break
        }
    }
}
