import CRingwakeLinux
import Glibc
import HTTP1
import RunLoop

@testable import RingwakeKit

/// The daemon's end of a control socket, in the test's own hands: nothing is answered but what the test says. It runs on
/// the loop of the transport that it tests, so what the two do has one order.
final class SocketServer {
    let path: String
    let runLoop: RunLoop
    private let listener: Int32
    private(set) var told: [TransportEvent] = []
    private(set) var connections: [Connection] = []
    let transport: UnixTransport

    struct Unexpected: Error {}

    /// One connection that was accepted.
    final class Connection {
        fileprivate(set) var descriptor: Int32
        private var parser = HTTP1RequestParser(limits: .init())
        private(set) var requests: [HTTP1Request] = []

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close() }

        func send(_ text: String) { send(Array(text.utf8)) }

        func send(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        /// An answer with this body.
        func answer(_ status: Int, _ body: String) {
            send(HTTP1Writer.response(status: status, body: Array(body.utf8), keepAlive: true))
        }

        func beginStream() { send(HTTP1Writer.streamHead(status: 200, isChunked: true, keepAlive: true)) }

        func beginSharedStream() { send(HTTP1Writer.upgradeHead(to: HTTP1Upgrade.lines)) }

        func line(_ text: String) { send(HTTP1Writer.chunk(Array((text + "\n").utf8))) }

        func close() {
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }

        fileprivate func read() throws {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while descriptor >= 0 {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { break }
                parser.consume(Array(buffer[..<count]))
            }
            while let request = try parser.next() { requests.append(request) }
        }
    }

    init(isListening: Bool = true) throws {
        runLoop = try RunLoop(wakingFromSuspend: false)
        path = "/tmp/ringwake-kit-\(getpid())-\(UInt64.random(in: 0 ... .max)).sock"
        listener = ringwake_stream_socket(AF_UNIX)
        transport = UnixTransport(path: path, runLoop: runLoop)
        transport.deliver = { [unowned self] in told.append($0) }
        if isListening { listen() }
    }

    func listen() {
        var address = sockaddr_storage()
        let length = ringwake_unix_address(path, &address)
        _ = ringwake_bind(listener, &address, length)
        _ = Glibc.listen(listener, 16)
    }

    deinit {
        transport.close()
        Glibc.close(listener)
        unlink(path)
    }

    /// Takes turns of the loop until nothing more happens by itself.
    func settle() throws {
        var before = -1
        while before != progress {
            before = progress
            for _ in 0..<3 { runLoop.runOnce(timeout: .zero) }
            let descriptor = ringwake_accept(listener, nil, nil)
            if descriptor >= 0 { connections.append(Connection(descriptor)) }
            for connection in connections { try connection.read() }
        }
    }

    private var progress: Int {
        told.count + connections.count + connections.map(\.requests.count).reduce(0, +)
    }

    /// What was told, as text.
    var said: [String] {
        told.map { event in
            switch event {
            case .streamOpened(let number): "opened \(number)"
            case .streamLine(let number, let line): "line \(number) \(String(decoding: line, as: UTF8.self))"
            case .streamRefused(let number, let answer): "refused \(number) \(answer.status)"
            case .streamEnded(let number, let error): "ended \(number) \(error.code)"
            case .answered(let number, let answer):
                "answered \(number) \(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
            case .failed(let number, let error, let wasSent): "failed \(number) \(error.code)\(wasSent ? " sent" : "")"
            }
        }
    }
}
