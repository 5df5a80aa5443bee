import CRingwakeOpenSSL
import Glibc
package import RingwakeCore

/// The progress of a handshake.
package enum TLSProgress: Equatable, Sendable {
    /// The handshake is complete; application data may follow at once.
    case done
    /// Call again when the descriptor is readable.
    case wantsRead
    /// Call again when the descriptor is writable.
    case wantsWrite
    /// The peer closed or reset the connection before the handshake was complete.
    case closed
    /// The handshake failed, with the reason for the log. OpenSSL has sent the alert, if there is one.
    case failed(String)
}

/// The result of a read or a write.
package enum TLSResult: Equatable, Sendable {
    /// This many bytes of application data were read or written. A write may be partial.
    case bytes(Int)
    /// Call again, with the same bytes at any address, when the descriptor is readable.
    case wantsRead
    /// Call again, with the same bytes at any address, when the descriptor is writable.
    case wantsWrite
    /// The peer has closed, with or without a close alert, or reset the connection.
    case closed
    /// The connection is broken, with the reason for the log.
    case failed(String)
}

/// One end of a TLS connection over a non-blocking socket: the server's or the client's.
///
/// The connection does not own the descriptor: it must be non-blocking and stay open until the connection is gone.
/// OpenSSL writes with write(2), which has no MSG_NOSIGNAL: **the process must ignore SIGPIPE**, or a peer that
/// disconnects ends the process.
///
/// OpenSSL may hold decrypted bytes that epoll doesn't see: read until `.wantsRead`.
package final class TLSConnection {
    /// 255 digests of SHA-256, the limit of HKDF.
    private static let maximumExportBytes = 8160

    private enum End {
        case server(TLSServerContext)
        case client(TLSClientContext)
    }

    private let end: End
    private let ssl: OwnedPointer
    /// After a fatal error OpenSSL forbids a close alert.
    private var isBroken = false
    /// Whether the server has decided about the ticket of this connection.
    private var isTicketSettled = false
    private var peer = Peer.notRead

    private enum Peer {
        case notRead
        case read(PeerCertificate?)
    }

    /// The server's end.
    ///
    /// - Throws: `failed` when OpenSSL cannot make a connection (no memory).
    package init(context: TLSServerContext, descriptor: Int32) throws(RingwakeError) {
        OpenSSLErrors.clear()
        end = .server(context)
        ssl = try OwnedPointer(context.makeConnection(), freedBy: SSL_free, operation: "make a TLS connection")
        guard SSL_set_fd(ssl.pointer, descriptor) == 1 else { throw .openSSL("attach TLS to a socket") }
        SSL_set_accept_state(ssl.pointer)
    }

    /// The client's end of a connection to the server of `context`. It offers the context's session, if there is one.
    ///
    /// - Throws: `failed` when OpenSSL cannot make a connection (no memory).
    package init(context: TLSClientContext, descriptor: Int32) throws(RingwakeError) {
        OpenSSLErrors.clear()
        end = .client(context)
        ssl = try OwnedPointer(context.makeConnection(), freedBy: SSL_free, operation: "make a TLS connection")
        guard SSL_set_fd(ssl.pointer, descriptor) == 1 else { throw .openSSL("attach TLS to a socket") }
        SSL_set_connect_state(ssl.pointer)
        try context.prepare(ssl.pointer)
    }

    /// Continues the handshake as far as the socket allows.
    ///
    /// At the server, a client certificate never fails it: see ``peerCertificate``. At the client, the reason of a
    /// failure says which check the server's certificate didn't pass.
    package func handshake() -> TLSProgress {
        OpenSSLErrors.clear()
        var outcome = SSL_do_handshake(ssl.pointer)
        if outcome == 1, case .server(let context) = end, context.takesDeviceKeys, !isTicketSettled {
            isTicketSettled = true
            if SSL_get0_peer_certificate(ssl.pointer) == nil, SSL_version(ssl.pointer) == TLS1_3_VERSION,
                SSL_new_session_ticket(ssl.pointer) == 1
            {
                // Sends the ticket.
                outcome = SSL_do_handshake(ssl.pointer)
            }
        }
        if outcome == 1 { return .done }
        return switch failure(of: outcome) {
        case .bytes: .failed("OpenSSL reports no error")
        case .wantsRead: .wantsRead
        case .wantsWrite: .wantsWrite
        case .closed: .closed
        case .failed(let reason): .failed(explained(reason))
        }
    }

    /// The reason of a failed handshake: at the client, the check that the server's certificate didn't pass.
    private func explained(_ reason: String) -> String {
        switch end {
        case .server: reason
        case .client(let context): context.failed() ?? reason
        }
    }

    /// Reads application data into `buffer`; `.bytes` is never 0 for a buffer that is not empty.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSResult {
        guard let base = buffer.baseAddress, !buffer.isEmpty else { return .bytes(0) }
        OpenSSLErrors.clear()
        var count = 0
        let outcome = SSL_read_ex(ssl.pointer, base, buffer.count, &count)
        return outcome == 1 ? .bytes(count) : failure(of: outcome)
    }

    /// Writes application data, one TLS record (16 KiB) at most; call again with the rest.
    package func write(_ bytes: UnsafeRawBufferPointer) -> TLSResult {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return .bytes(0) }
        OpenSSLErrors.clear()
        var count = 0
        let outcome = SSL_write_ex(ssl.pointer, base, bytes.count, &count)
        return outcome == 1 ? .bytes(count) : failure(of: outcome)
    }

    /// Sends the close alert if that is possible without waiting; the caller closes the descriptor next.
    package func shutdown() {
        guard !isBroken, SSL_is_init_finished(ssl.pointer) == 1 else { return }
        OpenSSLErrors.clear()
        _ = SSL_shutdown(ssl.pointer)
        OpenSSLErrors.clear()
    }

    /// The protocol agreed by ALPN; `nil` when the client offered none, or the server chose none.
    package var negotiatedProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl.pointer, &name, &length)
        guard let name, let count = Int(exactly: length), count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: count), as: UTF8.self)
    }

    /// The version of TLS, such as `TLSv1.3`.
    package var protocolVersion: String {
        String(cString: SSL_get_version(ssl.pointer))
    }

    /// Whether the client resumed an earlier session; the certificate of the peer and the verdict on it came along with
    /// the ticket.
    package var isResumed: Bool {
        SSL_session_reused(ssl.pointer) == 1
    }

    /// The peer's certificate and the result of its verification; `nil` if it sent none (or was not asked).
    ///
    /// Meaningful after ``handshake()`` is done. A client's trusted certificate that has expired since is untrusted. A
    /// server's certificate stays as the client has judged it: with a pin its dates don't count.
    package var peerCertificate: PeerCertificate? {
        peerCertificate(at: Int64(time(nil)))
    }

    /// ``peerCertificate`` as of `now`, in seconds since 1970.
    package func peerCertificate(at now: Int64) -> PeerCertificate? {
        let known: PeerCertificate?
        switch peer {
        case .read(let certificate):
            known = certificate
        case .notRead:
            known = readPeerCertificate()
            if SSL_is_init_finished(ssl.pointer) == 1 { peer = .read(known) }
        }
        return switch end {
        case .server: known?.asOf(now)
        case .client: known
        }
    }

    /// Key material that only the two ends of this connection can compute (RFC 8446 section 7.5).
    ///
    /// - Parameters:
    ///   - label: what it is for; both ends must name the same.
    ///   - context: more that both ends must name; `nil` is the same as empty.
    ///   - count: how many bytes, 1 to 8160.
    /// - Throws: `invalidRequest` before the handshake is done, and over TLS 1.2, where the material isn't bound to one
    ///   connection in every case.
    package func exportKeyingMaterial(
        label: String, context: [UInt8]?, count: Int
    ) throws(RingwakeError) -> [UInt8] {
        guard SSL_is_init_finished(ssl.pointer) == 1, SSL_version(ssl.pointer) == TLS1_3_VERSION else {
            throw RingwakeError(
                .invalidRequest, "Key material can be exported only from a TLS 1.3 connection after its handshake.")
        }
        guard (1...Self.maximumExportBytes).contains(count) else {
            throw RingwakeError(
                .invalidRequest,
                "\(count) bytes of key material were asked for; ask for 1 to \(Self.maximumExportBytes).")
        }
        OpenSSLErrors.clear()
        var material = [UInt8](repeating: 0, count: count)
        let labelBytes = label.utf8.map { CChar(bitPattern: $0) }
        let outcome = SSL_export_keying_material(
            ssl.pointer, &material, count, labelBytes, labelBytes.count, context ?? [], context?.count ?? 0,
            context == nil ? 0 : 1)
        guard outcome == 1 else { throw .openSSL("export key material for '\(label)'") }
        return material
    }

    private func readPeerCertificate() -> PeerCertificate? {
        guard let x509 = SSL_get0_peer_certificate(ssl.pointer), let certificate = Certificate(x509: x509) else {
            return nil
        }
        if case .server(let context) = end, !context.verifiesClients {
            return PeerCertificate(certificate: certificate, verification: .notAsked)
        }
        return PeerCertificate(certificate: certificate, verification: .init(SSL_get_verify_result(ssl.pointer)))
    }

    private func failure(of outcome: Int32) -> TLSResult {
        let number = errno
        switch SSL_get_error(ssl.pointer, outcome) {
        case SSL_ERROR_WANT_READ:
            return .wantsRead
        case SSL_ERROR_WANT_WRITE:
            return .wantsWrite
        case SSL_ERROR_ZERO_RETURN:
            return .closed
        case SSL_ERROR_SYSCALL:
            isBroken = true
            OpenSSLErrors.clear()
            // A reset counts like a missing close alert.
            let isGone = number == 0 || number == ECONNRESET || number == EPIPE
            return isGone ? .closed : .failed(String(cString: strerror(number)))
        default:
            isBroken = true
            return .failed(OpenSSLErrors.drainText())
        }
    }
}
