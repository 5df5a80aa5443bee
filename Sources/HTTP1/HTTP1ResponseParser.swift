/// Parses one answer (RFC 9112) for a client, strictly. The body is delivered as it arrives.
///
/// ```
/// status line -> fields -> (1xx: status line again)
///                        -> fixed(length)                      -> ended
///                        -> chunk size -> chunk -> chunk end   -> trailers -> ended
///                        -> until close                        -> ended by connectionClosed()
/// ```
package struct HTTP1ResponseParser {
    private enum State {
        case statusLine
        case fields(status: Int, FieldSection)
        case fixed(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailers(FieldSection)
        case untilClose
        case ended
        case failed(HTTP1Error)
    }

    private let limits: HTTP1Limits
    private let isAnswerToHead: Bool
    private let isUpgradeExpected: Bool
    private var buffer = LineBuffer()
    private var state = State.statusLine
    private var bodyBytes = 0
    private var interimResponses = 0

    /// Maximum bytes of the body in one event.
    private static let maximumPieceBytes = 64 * 1024

    /// - Parameters:
    ///   - requestMethod: an answer to HEAD has no body.
    ///   - limits: `maximumBodyBytes` limits the whole body; use `Int.max` for an endless stream.
    ///   - isUpgradeExpected: the request asks for another protocol: after 101 everything is its body.
    package init(requestMethod: String, limits: HTTP1Limits, isUpgradeExpected: Bool = false) {
        isAnswerToHead = requestMethod == "HEAD"
        self.isUpgradeExpected = isUpgradeExpected
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

    /// Parses the next event.
    ///
    /// - Returns: nil if more bytes are needed, and after the end.
    /// - Throws: ``HTTP1Error`` with status 502 if the answer is malformed or too large. Later calls throw the same
    ///   error.
    package mutating func next() throws(HTTP1Error) -> HTTP1ResponseEvent? {
        do {
            return try advance()
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// The server closed the connection. Call it after ``next()`` has returned nil.
    ///
    /// - Returns: the end, if closing ends this body; nil if the answer has already ended.
    /// - Throws: ``HTTP1Error`` with status 502 if the answer is incomplete.
    package mutating func connectionClosed() throws(HTTP1Error) -> HTTP1ResponseEvent? {
        switch state {
        case .untilClose:
            state = .ended
            return .end
        case .ended:
            return nil
        case .failed(let error):
            throw error
        case .statusLine, .fields, .fixed, .chunkSize, .chunk, .chunkEnd, .trailers:
            let error = HTTP1Error(status: 502, message: "the connection was closed before the answer was complete")
            state = .failed(error)
            throw error
        }
    }

    private mutating func advance() throws(HTTP1Error) -> HTTP1ResponseEvent? {
        while true {
            switch state {
            case .statusLine:
                guard let line = try takeLine(maximumBytes: limits.maximumStartLineBytes) else { return nil }
                state = .fields(status: try status(line), FieldSection(limits: limits))
            case .fields(let status, var section):
                guard try consume(&section) else {
                    state = .fields(status: status, section)
                    return nil
                }
                if let head = try afterFields(status, section) { return .head(head) }
            case .fixed(let remaining):
                guard remaining > 0 else { return end() }
                guard let piece = try takePiece(remaining) else { return nil }
                state = .fixed(remaining: remaining - piece.count)
                return .body(piece)
            case .chunkSize:
                guard let line = try takeLine(maximumBytes: HTTP1Limits.maximumChunkLineBytes) else { return nil }
                let size = try chunkSize(line)
                state = size == 0 ? .trailers(FieldSection(limits: limits)) : .chunk(remaining: size)
            case .chunk(let remaining):
                guard let piece = try takePiece(remaining) else { return nil }
                state = remaining == piece.count ? .chunkEnd : .chunk(remaining: remaining - piece.count)
                return .body(piece)
            case .chunkEnd:
                // The line must be empty.
                guard try takeLine(maximumBytes: 0) != nil else { return nil }
                state = .chunkSize
            case .trailers(var section):
                guard try consume(&section) else {
                    state = .trailers(section)
                    return nil
                }
                return end()
            case .untilClose:
                guard let piece = try takePiece(Int.max) else { return nil }
                return .body(piece)
            case .ended:
                return nil
            case .failed(let error):
                throw error
            }
        }
    }

    private mutating func end() -> HTTP1ResponseEvent {
        state = .ended
        return .end
    }

    private mutating func takeLine(maximumBytes: Int) throws(HTTP1Error) -> Range<Int>? {
        do {
            return try buffer.takeLine(maximumBytes: maximumBytes)
        } catch {
            throw HTTP1Error(status: 502, message: "the answer holds a line that is too long or ends without CR LF")
        }
    }

    private mutating func consume(_ section: inout FieldSection) throws(HTTP1Error) -> Bool {
        do {
            return try section.consume(&buffer)
        } catch {
            throw HTTP1Error(status: 502, message: "the answer's head is malformed: \(error.message)")
        }
    }

    private mutating func takePiece(_ remaining: Int) throws(HTTP1Error) -> [UInt8]? {
        let piece = buffer.take(upTo: min(remaining, HTTP1ResponseParser.maximumPieceBytes))
        guard !piece.isEmpty else { return nil }
        guard piece.count <= limits.maximumBodyBytes - bodyBytes else { throw tooLarge }
        if limits.maximumBodyBytes < Int.max {
            bodyBytes += piece.count
        }
        return piece
    }

    private var tooLarge: HTTP1Error {
        HTTP1Error(status: 502, message: "the answer's body is longer than \(limits.maximumBodyBytes) bytes")
    }

    private func status(_ line: Range<Int>) throws(HTTP1Error) -> Int {
        let bytes = Array(buffer.bytes[line])
        // "HTTP/1.1 200", with or without " OK". The space before an empty phrase is often missing.
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8), ByteClass.isDigit(bytes[7]),
            bytes[8] == ByteClass.space, bytes.count == 12 || bytes[12] == ByteClass.space,
            bytes.dropFirst(12).allSatisfy(ByteClass.isFieldContent),
            let status = ByteClass.decimal(bytes[9..<12]), status >= 100
        else {
            throw HTTP1Error(status: 502, message: "the answer does not begin with an HTTP/1.1 status line")
        }
        return status
    }

    /// Determines the framing of the body (RFC 9112 section 6.3). Returns nil after an interim answer.
    private mutating func afterFields(_ status: Int, _ section: FieldSection) throws(HTTP1Error) -> HTTP1ResponseHead? {
        if status == 101, isUpgradeExpected {
            state = .untilClose
            return HTTP1ResponseHead(status: status, fields: section.fields)
        }
        if status < 200 {
            interimResponses += 1
            guard status != 101, interimResponses <= HTTP1Limits.maximumInterimResponses else {
                throw HTTP1Error(status: 502, message: "the server switched protocols or sent only interim answers")
            }
            state = .statusLine
            return nil
        }
        let encodings = section.fields.filter { $0.name == "transfer-encoding" }
        let length = try section.contentLength(status: 502)
        if isAnswerToHead || !HTTP1Writer.allowsBody(status) {
            state = .fixed(remaining: 0)
        } else if !encodings.isEmpty {
            guard encodings.count == 1, encodings[0].value.lowercased() == "chunked", length == nil else {
                throw HTTP1Error(status: 502, message: "the answer's Transfer-Encoding is not just 'chunked'")
            }
            state = .chunkSize
        } else if let length {
            guard length <= limits.maximumBodyBytes else { throw tooLarge }
            state = .fixed(remaining: length)
        } else {
            state = .untilClose
        }
        return HTTP1ResponseHead(status: status, fields: section.fields)
    }

    /// The size of a chunk; its extensions are ignored (RFC 9112 section 7.1.1).
    private func chunkSize(_ line: Range<Int>) throws(HTTP1Error) -> Int {
        let bytes = buffer.bytes[line]
        let digits = bytes.prefix { ByteClass.hexValue($0) != nil }
        let rest = bytes[digits.endIndex...]
        var size = 0
        for byte in digits {
            let (shifted, overflow) = size.multipliedReportingOverflow(by: 16)
            guard !overflow, let value = ByteClass.hexValue(byte) else {
                throw HTTP1Error(status: 502, message: "a chunk of the answer has a size that does not fit")
            }
            size = shifted | value
        }
        guard !digits.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ";"),
            rest.allSatisfy(ByteClass.isFieldContent)
        else {
            throw HTTP1Error(status: 502, message: "a chunk of the answer has no valid size")
        }
        guard size <= limits.maximumBodyBytes - bodyBytes else { throw tooLarge }
        return size
    }
}
