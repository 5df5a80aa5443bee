import HTTP1

/// HTTP/1.1 of the control socket: what the daemon reads from clients, and clients from the daemon.
enum HTTP1Harness {
    static let request = Harness("http1-request") { input in
        let whole = Requests([input[...]])
        for pieces in Cuts.of(input) { try requireEqual(Requests(pieces), whole, "other pieces, other requests") }
        for request in whole.requests { try check(request) }
        let written = whole.requests.flatMap { write($0) }
        let again = Requests([written[...]], limits: generous)
        try requireEqual(again.error, nil, "a written request is refused")
        try requireEqual(
            again.requests.map { content($0) }, whole.requests.map { content($0) }, "a request was changed by writing")
        return !whole.requests.isEmpty
    }

    static let response = Harness("http1-response") { input in
        for method in ["GET", "HEAD"] {
            for isUpgradeExpected in [false, true] {
                let whole = Response([input[...]], method, isUpgradeExpected)
                for pieces in Cuts.of(input) {
                    let other = Response(pieces, method, isUpgradeExpected)
                    try require(whole.isSame(as: other), "other pieces, another answer:\n  \(whole)\n  \(other)")
                }
                try require(whole.body.count <= limits.maximumBodyBytes, "the body is longer than the limit")
                if method == "GET", !isUpgradeExpected { try checkWriter(whole) }
            }
        }
        return Response([input[...]], "GET", false).isComplete
    }

    /// Small, so that short inputs reach it.
    private static let limits = HTTP1Limits(maximumBodyBytes: 256)

    /// For what is written again: replaced bytes that are no UTF-8 take more room, and the writer adds fields.
    private static let generous: HTTP1Limits = {
        var limits = HTTP1Limits(maximumBodyBytes: 1 << 20)
        limits.maximumFieldBytes = 1 << 20
        limits.maximumFields = 1 << 10
        return limits
    }()

    // MARK: - Requests

    private struct Requests: Equatable {
        var requests: [HTTP1Request] = []
        var error: HTTP1Error?

        init(_ pieces: [ArraySlice<UInt8>], limits: HTTP1Limits = limits) {
            var parser = HTTP1RequestParser(limits: limits)
            do throws(HTTP1Error) {
                for piece in pieces {
                    parser.consume(piece)
                    while let request = try parser.next() { requests.append(request) }
                    // Whether it is asked for depends on the pieces; it must change nothing else.
                    _ = parser.takeContinueExpectation()
                }
            } catch {
                self.error = error
            }
        }
    }

    private static func check(_ request: HTTP1Request) throws {
        try require(request.body.count <= limits.maximumBodyBytes, "the body is longer than the limit")
        try require(request.fields.count <= limits.maximumFields, "there are more fields than the limit")
        try require(request.target == "*" || request.target.utf8.first == UInt8(ascii: "/"), "the target is no path")
        for field in request.fields {
            let isClean = field.value.utf8.allSatisfy { $0 == 9 || ($0 >= 0x20 && $0 != 0x7F) }
            try require(isClean, "a field's value holds a control character")
            try require(!field.name.utf8.contains { $0 <= 0x20 || $0 >= 0x7F }, "a field's name is no token")
        }
    }

    /// Fields that the writer makes.
    private static let ownFields = ["host", "content-length"]

    /// Whether a field stays when the request is written, which makes it one of HTTP/1.1: in 1.0 `expect` means nothing.
    private static func isKept(_ field: HTTP1Field, in request: HTTP1Request) -> Bool {
        !ownFields.contains(field.name) && (request.minorVersion > 0 || field.name != "expect")
    }

    private static func write(_ request: HTTP1Request) -> [UInt8] {
        HTTP1Writer.request(
            method: request.method, target: request.target, host: request.fields.first(named: "host") ?? "localhost",
            fields: request.fields.filter { isKept($0, in: request) }, body: request.body)
    }

    /// What writing keeps: the version becomes 1.1, and the writer's own fields stand elsewhere.
    private static func content(_ request: HTTP1Request) -> HTTP1Request {
        var content = request
        content.fields = request.fields.filter { isKept($0, in: request) }
        content.minorVersion = 1
        return content
    }

    // MARK: - Answers

    private struct Response {
        var heads: [HTTP1ResponseHead] = []
        var body: [UInt8] = []
        var isComplete = false
        var error: HTTP1Error?

        init(
            _ pieces: [ArraySlice<UInt8>], _ method: String, _ isUpgradeExpected: Bool, limits: HTTP1Limits = limits
        ) {
            var parser = HTTP1ResponseParser(
                requestMethod: method, limits: limits, isUpgradeExpected: isUpgradeExpected)
            do throws(HTTP1Error) {
                for piece in pieces {
                    parser.consume(piece)
                    while let event = try parser.next() { take(event) }
                }
                if let event = try parser.connectionClosed() { take(event) }
            } catch {
                self.error = error
            }
        }

        private mutating func take(_ event: HTTP1ResponseEvent) {
            switch event {
            case .head(let head): heads.append(head)
            case .body(let piece): body += piece
            case .end: isComplete = true
            }
        }

        /// In smaller pieces more of a body is delivered before its error.
        func isSame(as other: Response) -> Bool {
            heads == other.heads && error == other.error && isComplete == other.isComplete
                && (error == nil ? body == other.body : body.starts(with: other.body) || other.body.starts(with: body))
        }
    }

    private static func checkWriter(_ read: Response) throws {
        guard read.isComplete, let head = read.heads.last else { return }
        let fields = head.fields.filter { !["content-length", "transfer-encoding"].contains($0.name) }
        let hasBody = head.status != 204 && head.status != 304
        let whole = HTTP1Writer.response(status: head.status, fields: fields, body: read.body, keepAlive: true)
        var streamed = HTTP1Writer.streamHead(status: head.status, fields: fields, isChunked: true, keepAlive: true)
        if hasBody {
            let middle = read.body.count / 2
            streamed += HTTP1Writer.chunk(Array(read.body[..<middle])) + HTTP1Writer.chunk(Array(read.body[middle...]))
            streamed += HTTP1Writer.lastChunk
        }
        for written in [whole, streamed] {
            let again = Response([written[...]], "GET", false, limits: generous)
            try requireEqual(again.error, nil, "a written answer is refused")
            try require(again.isComplete, "a written answer has no end")
            try requireEqual(again.body, read.body, "a body changed when it was written")
            try requireEqual(again.heads.last?.status, head.status, "a status changed when it was written")
            let kept = again.heads.last?.fields.filter { !["content-length", "transfer-encoding"].contains($0.name) }
            try requireEqual(kept, fields, "fields changed when they were written")
        }
    }
}
