/// Parses the requests of one connection (RFC 9112), strictly: ambiguous input is refused.
///
/// Add bytes with ``consume(_:)`` as they arrive, and call ``next()`` until it returns nil. The result doesn't depend
/// on how the bytes are split. After an error the connection must be closed.
///
/// ```
/// head --empty line--> body --content-length bytes--> head     a request is delivered
///   \________________________________________________________> failed, for good
/// ```
package struct HTTP1RequestParser {
    private enum State {
        case startLine
        case fields(StartLine, FieldSection)
        case body(HTTP1Request, length: Int, expectsContinue: Bool)
        case failed(HTTP1Error)
    }

    private struct StartLine {
        var method: String
        var target: String
        var minorVersion: Int
    }

    private let limits: HTTP1Limits
    private var buffer = LineBuffer()
    private var state = State.startLine
    private var hasSkippedEmptyLine = false

    package init(limits: HTTP1Limits = HTTP1Limits()) {
        self.limits = limits
    }

    /// Adds received bytes.
    package mutating func consume(_ bytes: [UInt8]) {
        buffer.append(contentsOf: bytes)
    }

    /// Adds received bytes.
    package mutating func consume(_ bytes: ArraySlice<UInt8>) {
        buffer.append(contentsOf: bytes)
    }

    /// Received bytes that aren't parsed yet. The caller limits pipelined requests with it.
    package var bufferedByteCount: Int { buffer.count }

    /// Whether a request has begun to arrive and isn't complete, so that its deadline applies.
    package var isWithinRequest: Bool {
        if case .startLine = state { buffer.count > 0 } else { true }
    }

    /// Whether the client sent `Expect: 100-continue` and waits. Then send `100 Continue` once (RFC 9110 section
    /// 10.1.1).
    ///
    /// Call it after ``next()`` has returned nil. It returns true only once for a request.
    package mutating func takeContinueExpectation() -> Bool {
        guard case .body(let request, let length, true) = state else { return false }
        state = .body(request, length: length, expectsContinue: false)
        return buffer.count == 0
    }

    /// Parses the next complete request.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: ``HTTP1Error`` with the status to answer before closing. Later calls throw the same error.
    package mutating func next() throws(HTTP1Error) -> HTTP1Request? {
        do {
            return try advance()
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private mutating func advance() throws(HTTP1Error) -> HTTP1Request? {
        while true {
            switch state {
            case .startLine:
                guard let line = try takeStartLine() else { return nil }
                state = .fields(line, FieldSection(limits: limits))
            case .fields(let line, var section):
                let isComplete = try section.consume(&buffer)
                guard isComplete else {
                    state = .fields(line, section)
                    return nil
                }
                state = try afterFields(line, section)
            case .body(var request, let length, _):
                guard buffer.count >= length else { return nil }
                request.body = buffer.take(upTo: length)
                state = .startLine
                return request
            case .failed(let error):
                throw error
            }
        }
    }

    private mutating func takeStartLine() throws(HTTP1Error) -> StartLine? {
        guard let line = try takeLine() else { return nil }
        if line.isEmpty && !hasSkippedEmptyLine {
            // One empty line before a request is allowed (RFC 9112 section 2.2).
            hasSkippedEmptyLine = true
            return try takeStartLine()
        }
        hasSkippedEmptyLine = false
        return try startLine(line)
    }

    private mutating func takeLine() throws(HTTP1Error) -> Range<Int>? {
        do {
            return try buffer.takeLine(maximumBytes: limits.maximumStartLineBytes)
        } catch {
            switch error {
            case .tooLong:
                throw HTTP1Error(
                    status: 414, message: "the request line is longer than \(limits.maximumStartLineBytes) bytes")
            case .bareLineEnd:
                throw HTTP1Error(
                    status: 400, message: "the request line must end with CR LF, and hold neither elsewhere")
            }
        }
    }

    private func startLine(_ line: Range<Int>) throws(HTTP1Error) -> StartLine {
        let parts = buffer.bytes[line].split(
            separator: ByteClass.space, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(ByteClass.isToken) else {
            throw HTTP1Error(status: 400, message: "the request line is not 'METHOD target HTTP/1.1'")
        }
        let version = Array(parts[2])
        guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
            ByteClass.isDigit(version[5]), ByteClass.isDigit(version[7])
        else {
            throw HTTP1Error(status: 400, message: "the request line does not end with an HTTP version")
        }
        guard version[5] == UInt8(ascii: "1") else {
            throw HTTP1Error(status: 505, message: "only HTTP/1.1 and HTTP/1.0 are spoken here")
        }
        return StartLine(
            method: String(decoding: parts[0], as: UTF8.self), target: try target(parts[1]),
            minorVersion: version[7] == UInt8(ascii: "0") ? 0 : 1)
    }

    private func target(_ bytes: ArraySlice<UInt8>) throws(HTTP1Error) -> String {
        guard bytes.allSatisfy(ByteClass.isVisible) else {
            throw HTTP1Error(status: 400, message: "the request target holds bytes that must be percent-encoded")
        }
        if bytes.first == UInt8(ascii: "/") || bytes.elementsEqual("*".utf8) {
            return String(decoding: bytes, as: UTF8.self)
        }
        let scheme = "http://".utf8
        guard bytes.prefix(scheme.count).map(ByteClass.lowercased).elementsEqual(scheme) else {
            throw HTTP1Error(status: 400, message: "the request target must be a path that begins with '/'")
        }
        let path = bytes.dropFirst(scheme.count).drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let text = String(decoding: path, as: UTF8.self)
        return path.first == UInt8(ascii: "/") ? text : "/" + text
    }

    private func afterFields(_ line: StartLine, _ section: FieldSection) throws(HTTP1Error) -> State {
        let fields = section.fields
        if fields.first(named: "transfer-encoding") != nil {
            throw HTTP1Error(
                status: 501, message: "Transfer-Encoding is not taken in requests; send the body with Content-Length")
        }
        let hosts = fields.filter { $0.name == "host" }
        guard hosts.count == 1 || (hosts.isEmpty && line.minorVersion == 0) else {
            throw HTTP1Error(status: 400, message: "a request must have exactly one Host field")
        }
        guard hosts.allSatisfy({ $0.value.utf8.allSatisfy(ByteClass.isHost) }) else {
            throw HTTP1Error(status: 400, message: "the Host field is not a host name with an optional port")
        }
        let length = try section.contentLength(status: 400) ?? 0
        guard length <= limits.maximumBodyBytes else {
            throw HTTP1Error(
                status: 413, message: "the body has \(length) bytes; at most \(limits.maximumBodyBytes) are taken")
        }
        var expectsContinue = false
        if line.minorVersion >= 1, let expectation = fields.first(named: "expect") {
            guard expectation.lowercased() == "100-continue" else {
                throw HTTP1Error(status: 417, message: "the only expectation that is met is 100-continue")
            }
            expectsContinue = length > 0
        }
        let request = HTTP1Request(
            method: line.method, target: line.target, minorVersion: line.minorVersion, fields: fields)
        return .body(request, length: length, expectsContinue: expectsContinue)
    }
}
