internal import CRingwakeLinux
internal import Glibc
internal import HTTP1
internal import RunLoop

/// The connections to a daemon's control socket: one for the handler's stream and requests, one for the user's
/// requests, and one for the user's stream while there is one. From a daemon that can't share a connection with a
/// stream, the handler's requests have one of their own. The user's requests never share one: the stream may be closed
/// at any time.
final class UnixTransport: ControlTransport {
    private let path: String
    private let runLoop: RunLoop
    private var streams: [ControlRequest.Sender: StreamConnection] = [:]
    /// Created with the first request of each sender.
    private var connections: [ControlRequest.Sender: RequestConnection] = [:]
    /// Called on the loop's thread, and never from within a call.
    var deliver: (TransportEvent) -> Void = { _ in }

    init(path: String, runLoop: RunLoop) {
        self.path = path
        self.runLoop = runLoop
    }

    /// - Throws: `invalidRequest`: no socket can have this path.
    static func check(_ path: String) throws(RingwakeKitError) {
        var address = sockaddr_storage()
        guard ringwake_unix_address(path, &address) > 0, !path.utf8.contains(0) else {
            throw RingwakeKitError(
                .invalidRequest, "the socket path '\(path)' is empty or longer than 107 bytes; give a shorter one")
        }
    }

    func openStream(_ number: UInt64, _ request: ControlRequest) {
        streams[request.sender]?.close()
        streams[request.sender] = StreamConnection(number, request, path: path, runLoop: runLoop) { [unowned self] in
            deliver($0)
        }
    }

    func closeStream(_ number: UInt64) {
        guard let (sender, stream) = streams.first(where: { $0.value.number == number }) else { return }
        streams[sender] = nil
        let unanswered = stream.close()
        runLoop.enqueue { [weak self] in
            for event in unanswered { self?.deliver(event) }
        }
    }

    func send(_ number: UInt64, _ request: ControlRequest) {
        if request.sender == .handler, let stream = streams[.handler], stream.takesRequests {
            return stream.send(number, request)
        }
        let connection =
            connections[request.sender]
            ?? RequestConnection(path: path, runLoop: runLoop) { [unowned self] in deliver($0) }
        connections[request.sender] = connection
        connection.send(number, request)
    }

    func cancel(_ number: UInt64) {
        streams[.handler]?.cancel(number)
        for connection in connections.values { connection.cancel(number) }
    }

    func close() {
        for stream in streams.values { stream.close() }
        streams = [:]
        for connection in connections.values { connection.close() }
        deliver = { _ in }
    }
}

extension ControlRequest {
    /// The HTTP request, as sent.
    var bytes: [UInt8] { bytes() }

    /// The HTTP request for a stream that shares its connection with requests.
    var sharedBytes: [UInt8] {
        bytes([
            HTTP1Field(name: "connection", value: "upgrade"), HTTP1Field(name: "upgrade", value: HTTP1Upgrade.lines),
        ])
    }

    private func bytes(_ upgrade: [HTTP1Field] = []) -> [UInt8] {
        var fields = [HTTP1Field(name: "user-agent", value: Self.userAgent)] + upgrade
        if let secret { fields.append(HTTP1Field(name: "authorization", value: "Bearer \(secret)")) }
        if body?.isEmpty == false {
            let type = isJSON ? "application/json" : "application/octet-stream"
            fields.append(HTTP1Field(name: "content-type", value: type))
        }
        return HTTP1Writer.request(method: method, target: target, fields: fields, body: body)
    }
}
