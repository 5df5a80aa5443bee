/// Writes messages (RFC 9112) for both ends.
///
/// No argument can break the framing. Invalid bytes in a value become spaces, invalid bytes in a target are
/// percent-encoded, and a field whose name isn't a token is left out.
package enum HTTP1Writer {
    /// A complete request.
    ///
    /// - Parameters:
    ///   - target: path and query.
    ///   - host: value of the Host field; `localhost` for a Unix socket.
    ///   - body: nil sends no Content-Length, as for GET.
    package static func request(
        method: String, target: String, host: String = "localhost", fields: [HTTP1Field] = [], body: [UInt8]? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(contentsOf: method.utf8.filter(ByteClass.isToken))
        bytes.append(ByteClass.space)
        appendTarget(target, to: &bytes)
        bytes.append(contentsOf: " HTTP/1.1\r\n".utf8)
        append(HTTP1Field(name: "host", value: host), to: &bytes)
        append(fields, to: &bytes)
        if let body {
            append(HTTP1Field(name: "content-length", value: String(body.count)), to: &bytes)
        }
        bytes.append(contentsOf: "\r\n".utf8)
        bytes.append(contentsOf: body ?? [])
        return bytes
    }

    /// A complete answer. Its length is added, and `connection: close` if the connection is to be closed.
    ///
    /// - Parameter isHeadOnly: for a HEAD request: the length of the body, without the body.
    package static func response(
        status: Int, fields: [HTTP1Field] = [], body: [UInt8] = [], keepAlive: Bool, isHeadOnly: Bool = false
    ) -> [UInt8] {
        var bytes = statusLine(status)
        append(fields, to: &bytes)
        if allowsBody(status) {
            append(HTTP1Field(name: "content-length", value: String(body.count)), to: &bytes)
        }
        if !keepAlive {
            append(HTTP1Field(name: "connection", value: "close"), to: &bytes)
        }
        bytes.append(contentsOf: "\r\n".utf8)
        if allowsBody(status) && !isHeadOnly {
            bytes.append(contentsOf: body)
        }
        return bytes
    }

    /// The head of an answer whose body is sent in pieces.
    ///
    /// - Parameter isChunked: true if the pieces are sent with ``chunk(_:)`` and ``lastChunk``; false for an HTTP/1.0
    ///   client: they are sent unchanged, and closing the connection ends the body.
    package static func streamHead(status: Int, fields: [HTTP1Field] = [], isChunked: Bool, keepAlive: Bool) -> [UInt8]
    {
        var bytes = statusLine(status)
        append(fields, to: &bytes)
        if isChunked {
            append(HTTP1Field(name: "transfer-encoding", value: "chunked"), to: &bytes)
        }
        if !keepAlive || !isChunked {
            append(HTTP1Field(name: "connection", value: "close"), to: &bytes)
        }
        bytes.append(contentsOf: "\r\n".utf8)
        return bytes
    }

    /// The head of an answer that changes the protocol of the connection (RFC 9110 section 15.2.2).
    package static func upgradeHead(to name: String) -> [UInt8] {
        statusLine(101) + Array("connection: upgrade\r\nupgrade: \(name)\r\n\r\n".utf8)
    }

    /// One chunk. An empty piece gives nothing, because an empty chunk would end the body.
    package static func chunk(_ piece: [UInt8]) -> [UInt8] {
        guard !piece.isEmpty else { return [] }
        var bytes = Array(String(piece.count, radix: 16).utf8)
        bytes.reserveCapacity(bytes.count + piece.count + 4)
        bytes.append(contentsOf: "\r\n".utf8)
        bytes.append(contentsOf: piece)
        bytes.append(contentsOf: "\r\n".utf8)
        return bytes
    }

    /// The end of a chunked body.
    package static let lastChunk = Array("0\r\n\r\n".utf8)

    /// The interim answer to `Expect: 100-continue`.
    package static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Whether an answer of this status can have a body (RFC 9110 section 6.4.1).
    static func allowsBody(_ status: Int) -> Bool {
        status >= 200 && status != 204 && status != 304
    }

    private static func statusLine(_ status: Int) -> [UInt8] {
        Array("HTTP/1.1 \(status) \(reasonPhrase(status))\r\n".utf8)
    }

    private static func append(_ fields: [HTTP1Field], to bytes: inout [UInt8]) {
        for field in fields {
            append(field, to: &bytes)
        }
    }

    private static func append(_ field: HTTP1Field, to bytes: inout [UInt8]) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(ByteClass.isToken) else { return }
        bytes.append(contentsOf: field.name.utf8)
        bytes.append(contentsOf: ": ".utf8)
        for byte in field.value.utf8 {
            bytes.append(ByteClass.isFieldContent(byte) ? byte : ByteClass.space)
        }
        bytes.append(contentsOf: "\r\n".utf8)
    }

    private static func appendTarget(_ target: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in target.isEmpty ? "/".utf8 : target.utf8 {
            if ByteClass.isVisible(byte) {
                bytes.append(byte)
            } else {
                bytes.append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]])
            }
        }
    }

    /// The phrase of a status (RFC 9110 section 15); a general one for a status that we don't use.
    package static func reasonPhrase(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: status < 400 ? "Success" : "Error"
        }
    }
}
