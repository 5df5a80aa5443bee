/// A connection that ended before its first request, because the client and the listener could not agree.
package struct FailedConnection: Equatable, Sendable {
    /// Why they could not agree. A new reason is one line here.
    package enum Reason: String, CaseIterable, Sendable {
        /// The client does not trust the server's certificate.
        case serverNotTrusted
        /// The client refused the server's certificate as expired.
        case serverExpired
        /// The client speaks no TLS.
        case notTLS
        /// The client offers only versions or ciphers of TLS that are too old.
        case oldTLS
        /// The client does not speak HTTP/2.
        case notHTTP2
        /// Anything else.
        case other

        /// From OpenSSL's words, which have been the same since version 1.1: it gives alerts of the client no other
        /// form that survives its error queue.
        init(openSSL words: String) {
            let known: [(String, Reason)] = [
                ("alert unknown ca", .serverNotTrusted), ("alert certificate unknown", .serverNotTrusted),
                ("alert bad certificate", .serverNotTrusted), ("alert certificate expired", .serverExpired),
                ("http request", .notTLS), ("https proxy request", .notTLS), ("wrong version number", .notTLS),
                ("no application protocol", .notHTTP2), ("no shared cipher", .oldTLS),
                ("unsupported protocol", .oldTLS), ("version too low", .oldTLS),
                ("no suitable signature algorithm", .oldTLS),
            ]
            self = known.first { words.contains($0.0) }?.1 ?? .other
        }

        /// What is wrong and what to do, for people.
        package var explanation: String {
            switch self {
            case .serverNotTrusted:
                "the sender does not trust this server's certificate; give it the CA of the server certificate, and "
                    + "let it use a name that is in the certificate"
            case .serverExpired: "the sender says that this server's certificate has expired; renew it"
            case .notTLS: "the sender does not speak TLS; its address has to begin with https://"
            case .oldTLS:
                "the sender offers only versions or ciphers of TLS that are too old; it needs TLS 1.2 or later"
            case .notHTTP2: "the sender does not speak HTTP/2, which APNs requires"
            case .other: "the connection failed before its first request"
            }
        }
    }

    /// The client's address.
    package let peer: String
    package let reason: Reason
    /// The error in the words of OpenSSL or of the HTTP/2 library.
    package let detail: String

    package init(peer: String, reason: Reason, detail: String) {
        self.peer = peer
        self.reason = reason
        self.detail = detail
    }
}
