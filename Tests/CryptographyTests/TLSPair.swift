import CRingwakeLinux
import CRingwakeOpenSSL
import Cryptography
import Glibc

/// A TLS client of OpenSSL, for driving the server's end in one thread.
final class TLSClient {
    struct Failure: Error { let text: String }

    /// What `body`, called with no request for more, may do to the client's SSL_CTX.
    struct Options {
        var version: Int32?
        var alpn: [String] = ["h2"]
        var certificate: (certificate: Certificate, key: PrivateKey)?
        /// A session of an earlier client.
        var session: OpaquePointer?
    }

    let ssl: OpaquePointer
    private let context: OpaquePointer
    let tickets = Tickets()

    /// The sessions that the server handed out; TLS 1.3 sends them after the handshake.
    final class Tickets {
        var sessions: [OpaquePointer] = []
        deinit { for session in sessions { SSL_SESSION_free(session) } }
    }

    init(descriptor: Int32, options: Options) throws {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw Failure(text: "SSL_CTX_new") }
        self.context = context
        if let version = options.version {
            _ = ringwake_SSL_CTX_set_min_proto_version(context, version)
            _ = ringwake_SSL_CTX_set_max_proto_version(context, version)
        }
        if let (certificate, key) = options.certificate {
            let file = try PEMFile(certificate.pem + key.pem)
            guard SSL_CTX_use_certificate_file(context, file.path, SSL_FILETYPE_PEM) == 1,
                SSL_CTX_use_PrivateKey_file(context, file.path, SSL_FILETYPE_PEM) == 1
            else { throw Failure(text: "client certificate") }
        }
        _ = ringwake_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT))
        SSL_CTX_sess_set_new_cb(context) { ssl, session in
            guard let ssl, let session, let data = SSL_get_ex_data(ssl, 0) else { return 0 }
            Unmanaged<Tickets>.fromOpaque(data).takeUnretainedValue().sessions.append(session)
            return 1
        }
        guard let ssl = SSL_new(context) else { throw Failure(text: "SSL_new") }
        self.ssl = ssl
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(tickets).toOpaque())
        let wire = options.alpn.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        if !wire.isEmpty { SSL_set_alpn_protos(ssl, wire, UInt32(wire.count)) }
        if let session = options.session { SSL_set_session(ssl, session) }
        SSL_set_fd(ssl, descriptor)
        SSL_set_connect_state(ssl)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// One step; `nil` when it must go on later, else whether it is done, with the reason of a failure.
    func handshake() -> Result<Void, Failure>? {
        ERR_clear_error()
        let outcome = SSL_do_handshake(ssl)
        if outcome == 1 { return .success(()) }
        let error = SSL_get_error(ssl, outcome)
        if error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE { return nil }
        return .failure(Failure(text: reason()))
    }

    func write(_ bytes: [UInt8]) -> Int {
        var count = 0
        ERR_clear_error()
        return SSL_write_ex(ssl, bytes, bytes.count, &count) == 1 ? count : 0
    }

    /// What has arrived; also takes the tickets in.
    func read(maximum: Int = 65_536) -> Result<[UInt8], Failure>? {
        var buffer = [UInt8](repeating: 0, count: maximum)
        var count = 0
        ERR_clear_error()
        let outcome = SSL_read_ex(ssl, &buffer, buffer.count, &count)
        if outcome == 1 { return .success(Array(buffer.prefix(count))) }
        let error = SSL_get_error(ssl, outcome)
        if error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE { return nil }
        return .failure(Failure(text: error == SSL_ERROR_ZERO_RETURN ? "closed" : reason()))
    }

    private func reason() -> String {
        let code = ERR_get_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

/// A file that goes away with its owner.
final class PEMFile {
    let path: String

    init(_ bytes: [UInt8]) throws {
        var template = Array("/tmp/ringwake-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw TLSClient.Failure(text: "mkstemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    deinit { unlink(path) }
}

/// The two non-blocking ends of a socket pair.
final class SocketPair {
    let server: Int32
    private(set) var client: Int32

    init() {
        signal(SIGPIPE, SIG_IGN)
        var descriptors: [Int32] = [-1, -1]
        precondition(ringwake_stream_socket_pair(&descriptors) == 0)
        server = descriptors[0]
        client = descriptors[1]
    }

    func closeClient() {
        if client >= 0 { close(client) }
        client = -1
    }

    deinit {
        close(server)
        closeClient()
    }
}

/// Client and server over a socket pair, driven turn by turn.
final class TLSPair {
    private static let maximumTurns = 1000

    let sockets = SocketPair()
    let server: TLSConnection
    let client: TLSClient
    private(set) var serverProgress = TLSProgress.wantsRead
    private(set) var clientFailure: String?

    init(context: TLSServerContext, client options: TLSClient.Options = .init()) throws {
        server = try TLSConnection(context: context, descriptor: sockets.server)
        client = try TLSClient(descriptor: sockets.client, options: options)
    }

    /// Runs the handshake until both ends are done or one failed.
    func handshake() {
        var isClientDone = false
        for _ in 0..<Self.maximumTurns {
            if !isClientDone {
                switch client.handshake() {
                case .success: isClientDone = true
                case .failure(let failure):
                    clientFailure = failure.text
                    return
                case nil: break
                }
            }
            switch serverProgress {
            case .wantsRead, .wantsWrite: serverProgress = server.handshake()
            case .failed, .closed:
                // One more turn for the client to read the alert.
                let last = isClientDone ? client.read()?.map { _ in } : client.handshake()
                if case .failure(let failure)? = last { clientFailure = failure.text }
                return
            case .done:
                if isClientDone { return }
            }
        }
    }

    func serverReads(capacity: Int = 65_536) -> (TLSResult, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: capacity)
        let result = buffer.withUnsafeMutableBytes { server.read(into: $0) }
        guard case .bytes(let count) = result else { return (result, []) }
        return (result, Array(buffer.prefix(count)))
    }

    func serverWrites(_ bytes: [UInt8]) -> TLSResult {
        bytes.withUnsafeBytes { server.write($0) }
    }
}
