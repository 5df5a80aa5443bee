import CRingwakeLinux
import CRingwakeOpenSSL
import Glibc

/// A client that speaks TLS and, by hand, HTTP/2.
@MainActor final class TLSClient {
    private let socket: Int32
    private let context: OpaquePointer?
    private let ssl: OpaquePointer?
    private var unsent: [UInt8] = []
    private var input: [UInt8] = []
    private(set) var isConnected = false
    private(set) var isClosed = false
    private(set) var hasFailed = false
    var isReading = true

    /// - Parameters:
    ///   - source: the client's own address; nil: the kernel's choice.
    ///   - alpn: in wire format; nil offers none.
    init(
        port: UInt16, host: String = "127.0.0.1", from source: String? = nil,
        alpn: [UInt8]? = [2] + Array("h2".utf8), _ loop: TestLoop
    ) {
        var address = sockaddr_storage()
        let length = ringwake_ip_address(host, port, &address)
        let descriptor = ringwake_stream_socket(Int32(address.ss_family))
        socket = descriptor
        // Else the kernel holds a second piece back until the first is acknowledged.
        _ = ringwake_set_no_delay(socket)
        if let source {
            var own = sockaddr_storage()
            let ownLength = ringwake_ip_address(source, 0, &own)
            _ = withUnsafePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, ownLength) }
            }
        }
        _ = ringwake_connect(socket, &address, length)
        context = SSL_CTX_new(TLS_client_method())
        _ = ringwake_SSL_CTX_set_mode(
            context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        ssl = SSL_new(context)
        if let alpn { SSL_set_alpn_protos(ssl, alpn, UInt32(alpn.count)) }
        SSL_set_fd(ssl, socket)
        SSL_set_connect_state(ssl)
        loop.afterTurn.append { [weak self] in self?.pump() }
    }

    /// A client with its preface and SETTINGS under way.
    static func http2(
        _ server: H2TestServer, from source: String? = nil, settings: [(UInt16, UInt32)] = []
    ) -> TLSClient {
        let client = TLSClient(port: server.port, from: source, server.loop)
        client.send(Frame.preface + Frame.settings(settings).bytes)
        return client
    }

    var receivedBytes: Int { input.count }

    /// The frames that have come.
    var frames: [Frame] { Frame.parse(input) }

    func frames(on stream: UInt32) -> [Frame] { frames.filter { $0.stream == stream } }

    /// The error code of the stream's RST_STREAM.
    func resetCode(of stream: UInt32) -> UInt32? {
        frames(on: stream).first { $0.kind == Frame.Kind.rstStream.rawValue }.map { Frame.number($0.payload) }
    }

    /// Last stream, error code and debug data of GOAWAY.
    var goAway: (lastStream: UInt32, code: UInt32, debug: String)? {
        guard let frame = frames.last(where: { $0.kind == Frame.Kind.goAway.rawValue }) else { return nil }
        return (
            Frame.number(frame.payload[0..<4]), Frame.number(frame.payload[4..<8]),
            String(decoding: frame.payload.dropFirst(8), as: UTF8.self)
        )
    }

    func send(_ frames: Frame...) {
        send(frames.flatMap(\.bytes))
    }

    func send(_ bytes: [UInt8]) {
        unsent += bytes
        pump()
    }

    /// Sends the close alert; what the server sends can still be read.
    func closeSending() {
        _ = SSL_shutdown(ssl)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        SSL_free(ssl)
        SSL_CTX_free(context)
        _ = Glibc.close(socket)
    }

    func pump() {
        guard !isClosed else { return }
        ERR_clear_error()
        if !isConnected {
            let result = SSL_do_handshake(ssl)
            guard result == 1 else { return check(result) }
            isConnected = true
        }
        write()
        var buffer = [UInt8](repeating: 0, count: 16384)
        while isReading, !isClosed {
            var count = 0
            let result = SSL_read_ex(ssl, &buffer, buffer.count, &count)
            guard result == 1 else { return check(result) }
            input += buffer[..<count]
        }
    }

    private func write() {
        var written = 0
        while written < unsent.count {
            var count = 0
            let result = unsent.withUnsafeBytes {
                SSL_write_ex(ssl, $0.baseAddress?.advanced(by: written), $0.count - written, &count)
            }
            guard result == 1 else {
                unsent.removeFirst(written)
                return check(result)
            }
            written += count
        }
        unsent = []
    }

    private func check(_ result: Int32) {
        let error = SSL_get_error(ssl, result)
        if error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE { return }
        if error == SSL_ERROR_SYSCALL && errno == ENOTCONN { return }
        hasFailed = error != SSL_ERROR_ZERO_RETURN
        close()
    }
}
