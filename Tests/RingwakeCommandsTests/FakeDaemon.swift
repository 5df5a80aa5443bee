import CRingwakeLinux
import Glibc
import Synchronization

/// A directory that goes away with its object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/ringwake-test-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no temporary directory")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        if let stream = opendir(path) {
            while let entry = readdir(stream) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink(path + "/" + name)
                rmdir(path + "/" + name)
            }
            closedir(stream)
        }
        rmdir(path)
    }

    func write(_ text: String, to name: String, mode: mode_t = 0o644) {
        let descriptor = ringwake_open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, mode)
        precondition(descriptor >= 0)
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    func read(_ name: String) -> String? {
        let descriptor = ringwake_open(path + "/" + name, O_RDONLY, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}

/// A server on a thread of its own that does to each connection what the test says.
final class ScriptedServer: Sendable {
    private let listener: Int32
    private let serve: @Sendable (Int32) -> Void
    private let thread = Mutex<pthread_t?>(nil)

    /// - Parameter serve: handles one accepted connection and closes nothing.
    init(listener: Int32, serve: @escaping @Sendable (Int32) -> Void) {
        self.listener = listener
        self.serve = serve
        let context = Unmanaged.passRetained(self).toOpaque()
        var created = pthread_t()
        pthread_create(
            &created, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<ScriptedServer>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        thread.withLock { $0 = created }
    }

    private func run() {
        while true {
            // A child that a test starts must not hold the connection open.
            let connection = accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
            guard connection >= 0 else { return }
            serve(connection)
            close(connection)
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        if let running = thread.withLock({ $0.take() }) {
            pthread_join(running, nil)
        }
        close(listener)
    }

    /// Listens on a free port of the loopback address.
    static func tcpListener() -> (descriptor: Int32, port: UInt16) {
        var address = sockaddr_storage()
        let length = ringwake_ip_address("127.0.0.1", 0, &address)
        let descriptor = ringwake_blocking_stream_socket(AF_INET)
        precondition(ringwake_bind(descriptor, &address, length) == 0 && listen(descriptor, 16) == 0)
        ringwake_local_address(descriptor, &address)
        var text = [CChar](repeating: 0, count: 64)
        ringwake_describe_ip_address(&address, &text, text.count)
        let digits = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.split(separator: UInt8(ascii: ":"))
        return (descriptor, digits.last.flatMap { UInt16(String(decoding: $0, as: UTF8.self)) } ?? 0)
    }
}

/// A control socket that answers what the test says and remembers what it was asked.
final class FakeDaemon: Sendable {
    /// What the daemon does with a request.
    enum Reply: Sendable {
        /// A whole answer.
        case json(status: Int = 200, String)
        /// These bytes, then the connection is closed.
        case raw([String])
        /// These bytes, and then nothing until the client closes.
        case hang(String)
    }

    let directory = TemporaryDirectory()
    var socket: String { directory.path + "/control.sock" }
    private let server: ScriptedServer
    private let log: RequestLog

    final class RequestLog: Sendable {
        let requests = Mutex<[String]>([])
    }

    /// The requests so far: heads with bodies.
    var requests: [String] { log.requests.withLock { $0 } }
    /// Their first lines.
    var requestLines: [String] { requests.map { String($0.prefix { $0 != "\r\n" }) } }

    init(_ answer: @escaping @Sendable (_ requestLine: String) -> Reply) {
        let log = RequestLog()
        self.log = log
        var address = sockaddr_storage()
        let length = ringwake_unix_address(directory.path + "/control.sock", &address)
        let listener = ringwake_blocking_stream_socket(AF_UNIX)
        precondition(ringwake_bind(listener, &address, length) == 0 && listen(listener, 16) == 0)
        server = ScriptedServer(listener: listener) { connection in
            let request = FakeDaemon.readRequest(connection)
            log.requests.withLock { $0.append(request) }
            switch answer(String(request.prefix { $0 != "\r\n" })) {
            case .json(let status, let body):
                FakeDaemon.send(
                    "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
                        + body,
                    connection)
            case .raw(let pieces):
                for piece in pieces { FakeDaemon.send(piece, connection) }
            case .hang(let text):
                FakeDaemon.send(text, connection)
                var byte: UInt8 = 0
                while recv(connection, &byte, 1, 0) > 0 {}
            }
        }
    }

    deinit { server.stop() }

    static func readRequest(_ connection: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let head = text.range(of: "\r\n\r\n") {
                let fields = text[..<head.lowerBound].lowercased().split(separator: "\r\n")
                let length =
                    fields.first { $0.hasPrefix("content-length:") }
                    .flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
                if text[head.upperBound...].utf8.count >= length { return text }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return text }
            bytes += buffer[..<count]
        }
    }

    static func send(_ text: String, _ connection: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

extension StringProtocol {
    /// Where `text` occurs first.
    func range(of text: String) -> Range<String.Index>? {
        firstRange(of: text)
    }
}
