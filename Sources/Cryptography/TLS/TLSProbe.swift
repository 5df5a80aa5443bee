import CRingwakeOpenSSL
import Glibc
package import RingwakeCore

/// What a TLS server shows to a client that only looks: nothing is verified, and nothing is sent after the handshake.
package struct TLSProbe: Sendable {
    /// The server's own certificate.
    package let certificate: Certificate
    /// As in `TLSv1.3`.
    package let version: String
    /// The protocol agreed by ALPN; nil if the server takes none of those offered.
    package let negotiatedProtocol: String?

    /// Makes a handshake.
    ///
    /// - Parameters:
    ///   - descriptor: a connected socket. A blocking one needs SO_RCVTIMEO. The process must ignore SIGPIPE.
    ///   - alpn: the protocol to offer.
    /// - Throws: `unreachable` with the reason.
    package init(descriptor: Int32, alpn: String) throws(RingwakeError) {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        let context = try OwnedPointer(
            SSL_CTX_new(TLS_client_method()), freedBy: SSL_CTX_free, operation: "make a TLS context")
        let ssl = try OwnedPointer(SSL_new(context.pointer), freedBy: SSL_free, operation: "make a TLS connection")
        let name = Array(alpn.utf8)
        guard let length = UInt8(exactly: name.count), SSL_set_fd(ssl.pointer, descriptor) == 1 else {
            throw .openSSL("attach TLS to a socket")
        }
        // It returns 0 for success, unlike the rest of OpenSSL.
        guard SSL_set_alpn_protos(ssl.pointer, [length] + name, UInt32(name.count + 1)) == 0 else {
            throw .openSSL("offer '\(alpn)'")
        }
        var outcome: Int32
        repeat {
            errno = 0
            outcome = SSL_connect(ssl.pointer)
            // With SO_RCVTIMEO, a read fails with EINTR when the machine sleeps or the process is stopped (signal(7)).
        } while outcome != 1 && errno == EINTR
        guard outcome == 1 else {
            let number = errno
            throw RingwakeError(
                .unreachable, "the TLS handshake failed: \(Self.reason(SSL_get_error(ssl.pointer, outcome), number))")
        }
        guard let x509 = SSL_get0_peer_certificate(ssl.pointer), let certificate = Certificate(x509: x509) else {
            throw RingwakeError(.unreachable, "the TLS handshake showed no certificate")
        }
        self.certificate = certificate
        version = String(cString: SSL_get_version(ssl.pointer))
        var selected: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl.pointer, &selected, &count)
        negotiatedProtocol =
            if let selected, count > 0 {
                String(decoding: UnsafeBufferPointer(start: selected, count: Int(count)), as: UTF8.self)
            } else {
                nil
            }
        _ = SSL_shutdown(ssl.pointer)
    }

    private static func reason(_ error: Int32, _ number: Int32) -> String {
        switch error {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: "no answer in time"
        case SSL_ERROR_SYSCALL: number == 0 ? "the server closed the connection" : String(cString: strerror(number))
        default: OpenSSLErrors.drainText()
        }
    }
}
