import ControlProtocol
import FileSystem
import FoundationEssentials
import HTTP1
import RingwakeCore

/// A client of the control API, with one connection for each request.
struct ControlClient {
    /// Maximum bytes of an answer.
    static let maximumAnswerBytes = 8 * 1024 * 1024

    /// The socket's path.
    let path: String
    /// The secret in a handler's environment, for its requests.
    let secret: String?
    /// Timeout of connecting and one answer together.
    var timeout: Duration = .seconds(10)

    /// The same client, whose next request ends at `deadline` at the latest; nil: there is no deadline.
    func ending(at deadline: Deadline?) -> ControlClient {
        guard let deadline else { return self }
        var client = self
        // A socket takes zero for "no timeout".
        client.timeout = min(timeout, max(.milliseconds(1), deadline.remaining))
        return client
    }

    /// `GET /v1/...`.
    func get<Message: Decodable>(_ target: RequestTarget) throws(RingwakeError) -> Message {
        try decode(answer(to: "GET", target, body: nil), from: target)
    }

    /// The body of the answer to `GET /v1/...`, for answers that aren't JSON.
    func octets(_ target: RequestTarget) throws(RingwakeError) -> [UInt8] {
        try answer(to: "GET", target, body: nil)
    }

    /// `POST /v1/...`, with `body` as JSON when there is one.
    func post<Message: Decodable>(_ target: RequestTarget, _ body: (some Encodable)?) throws(RingwakeError) -> Message {
        try decode(answer(to: "POST", target, body: body.map { controlLine($0) } ?? []), from: target)
    }

    /// `POST /v1/...` with these bytes.
    func post<Message: Decodable>(_ target: RequestTarget, octets: [UInt8]) throws(RingwakeError) -> Message {
        try decode(answer(to: "POST", target, body: octets, type: ControlClient.octetsType), from: target)
    }

    /// `PUT /v1/...` with `body` as JSON.
    func put<Message: Decodable>(_ target: RequestTarget, _ body: some Encodable) throws(RingwakeError) -> Message {
        try decode(answer(to: "PUT", target, body: controlLine(body)), from: target)
    }

    /// `PUT /v1/...` with these bytes.
    func put<Message: Decodable>(_ target: RequestTarget, octets: [UInt8]) throws(RingwakeError) -> Message {
        try decode(answer(to: "PUT", target, body: octets, type: ControlClient.octetsType), from: target)
    }

    /// `POST /v1/...` without a body.
    func post<Message: Decodable>(_ target: RequestTarget) throws(RingwakeError) -> Message {
        try decode(answer(to: "POST", target, body: []), from: target)
    }

    /// `DELETE /v1/...`.
    func delete<Message: Decodable>(_ target: RequestTarget) throws(RingwakeError) -> Message {
        try decode(answer(to: "DELETE", target, body: nil), from: target)
    }

    /// Opens `GET /v1/events`, or another stream of lines. Returns when the daemon has answered 200.
    func events(_ target: RequestTarget) throws(RingwakeError) -> EventStream {
        try stream("GET", target, body: nil)
    }

    /// Opens the stream of lines that `POST /v1/...` with `body` as JSON answers with.
    func stream(_ target: RequestTarget, _ body: some Encodable) throws(RingwakeError) -> EventStream {
        try stream("POST", target, body: controlLine(body))
    }

    /// The same without a body.
    func stream(_ target: RequestTarget) throws(RingwakeError) -> EventStream {
        try stream("POST", target, body: [])
    }

    private func stream(_ method: String, _ target: RequestTarget, body: [UInt8]?) throws(RingwakeError) -> EventStream
    {
        var exchange = try open(method, target, body: body, maximumBytes: .max)
        let status = try exchange.status()
        guard status == 200 else {
            throw refusal(status, try exchange.body(maximumBytes: ControlClient.maximumAnswerBytes))
        }
        return EventStream(socket: exchange.socket, parser: exchange.parser, path: path)
    }

    // MARK: - One request

    private static let jsonType = "application/json"
    private static let octetsType = "application/octet-stream"

    private func open(
        _ method: String, _ target: RequestTarget, body: [UInt8]?, type: String = ControlClient.jsonType,
        maximumBytes: Int
    ) throws(RingwakeError) -> Exchange {
        var fields = [HTTP1Field(name: "connection", value: "close")]
        if let secret {
            fields.append(HTTP1Field(name: "authorization", value: "Bearer \(secret)"))
        }
        if body?.isEmpty == false {
            fields.append(HTTP1Field(name: "content-type", value: type))
        }
        let deadline = Deadline(after: timeout)
        let socket = try connect()
        try socket.send(
            HTTP1Writer.request(method: method, target: target.text, fields: fields, body: body), until: deadline)
        let parser = HTTP1ResponseParser(requestMethod: method, limits: HTTP1Limits(maximumBodyBytes: maximumBytes))
        return Exchange(socket: socket, parser: parser, deadline: deadline, client: self)
    }

    /// Connects to the control socket; a user who may not, to the status socket beside it.
    private func connect() throws(RingwakeError) -> ControlSocket {
        do throws(RingwakeError) {
            return try ControlSocket(path: path, timeout: timeout)
        } catch {
            guard error.code == .notPermitted, let other = ControlSocketPath.status(beside: path),
                FileSystem.exists(other)
            else { throw error }
            return try ControlSocket(path: other, timeout: timeout)
        }
    }

    private func answer(
        to method: String, _ target: RequestTarget, body: [UInt8]?, type: String = ControlClient.jsonType
    ) throws(RingwakeError) -> [UInt8] {
        let limit = ControlClient.maximumAnswerBytes
        var exchange = try open(method, target, body: body, type: type, maximumBytes: limit)
        let status = try exchange.status()
        let answer = try exchange.body(maximumBytes: limit)
        guard status == 200 else { throw refusal(status, answer) }
        return answer
    }

    /// A sent request, and its answer as it arrives.
    private struct Exchange: ~Copyable {
        let socket: ControlSocket
        var parser: HTTP1ResponseParser
        let deadline: Deadline
        let client: ControlClient

        mutating func status() throws(RingwakeError) -> Int {
            guard case .head(let head) = try next() else { throw client.invalidAnswer("it ended before its head") }
            return head.status
        }

        mutating func body(maximumBytes: Int) throws(RingwakeError) -> [UInt8] {
            var body: [UInt8] = []
            while case .body(let bytes) = try next() {
                guard bytes.count <= maximumBytes - body.count else {
                    throw client.invalidAnswer("it is longer than \(maximumBytes) bytes")
                }
                body.append(contentsOf: bytes)
            }
            return body
        }

        private mutating func next() throws(RingwakeError) -> HTTP1ResponseEvent? {
            var isClosed = false
            while true {
                do throws(HTTP1Error) {
                    if let event = try parser.next() { return event }
                    if isClosed { return try parser.connectionClosed() }
                } catch {
                    throw client.invalidAnswer(error.message)
                }
                if case .bytes(let bytes) = try socket.receive(until: deadline, output: nil) {
                    parser.consume(bytes)
                } else {
                    isClosed = true
                }
            }
        }
    }

    // MARK: - Messages

    private struct SchemaOnly: Decodable { let schema: Int }

    private func decode<Message: Decodable>(_ body: [UInt8], from target: RequestTarget) throws(RingwakeError)
        -> Message
    {
        let data = Data(body)
        if let schema = try? JSONDecoder().decode(SchemaOnly.self, from: data).schema, schema != ControlAPI.schema {
            throw RingwakeError(
                .failed,
                "the daemon at '\(path)' speaks schema \(schema) of the control API, and this ringwake "
                    + "\(ProductVersion.current) speaks \(ControlAPI.schema); install the same version of both")
        }
        do {
            return try JSONDecoder().decode(Message.self, from: data)
        } catch {
            let isPublic = (try? JSONDecoder().decode(PublicStatusMessage.self, from: data)) != nil
            if Message.self == StatusMessage.self, isPublic {
                throw ControlSocket.notPermitted(path)
            }
            throw invalidAnswer("\(target.text) did not give the JSON that this version expects")
        }
    }

    private func refusal(_ status: Int, _ body: [UInt8]) -> RingwakeError {
        guard let message = try? JSONDecoder().decode(ErrorMessage.self, from: Data(body)) else {
            let code = RingwakeError.Code.all.first { $0.httpStatus == status && $0 == .notPermitted }
            return invalidAnswer("status \(status) without a message", code ?? .unreachable)
        }
        return RingwakeError(message)
    }

    private func invalidAnswer(_ detail: String, _ code: RingwakeError.Code = .unreachable) -> RingwakeError {
        RingwakeError(
            code,
            "'\(path)' did not answer as ringwaked \(ProductVersion.current) does: \(detail); 'ringwake doctor' looks "
                + "why")
    }
}

extension RingwakeError {
    /// An error that the daemon has sent.
    init(_ message: ErrorMessage) {
        let code = Code.all.first { $0.slug == message.error }
        // For a failure of an audio session, append the name of its code.
        let name = message.audioError.map { " (\($0.code.rawValue))" } ?? ""
        self.init(code ?? .failed, message.message + name)
    }
}
