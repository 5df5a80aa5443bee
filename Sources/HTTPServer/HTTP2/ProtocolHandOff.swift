package import Cryptography
internal import Glibc

/// Lets a port serve a second protocol: connections that agreed on it by ALPN go elsewhere when their handshake is done.
package struct ProtocolHandOff {
    /// Whether connections with this protocol go there; nil: the client offered none.
    let takes: (String?) -> Bool
    let take: (AcceptedTLS) -> Void

    package init(takes: @escaping (String?) -> Bool, take: @escaping (AcceptedTLS) -> Void) {
        self.takes = takes
        self.take = take
    }
}

/// A connection whose TLS handshake is done. Who takes it owns its descriptor.
package struct AcceptedTLS {
    package let tls: TLSConnection
    package let descriptor: Int32
    /// The peer's, for people.
    package let address: String
    package let network: PeerNetwork

    /// Closes the connection.
    package func close() {
        tls.shutdown()
        _ = Glibc.close(descriptor)
    }
}
