package import Cryptography

/// The peer of a connection.
package nonisolated struct PeerInfo {
    /// `127.0.0.1:4711`, `[::1]:4711`, or `unix`.
    package var address: String
    /// The client certificate of a TLS connection and the result of its verification; nil if the client showed none.
    package var certificate: PeerCertificate?
    /// The peer process of a Unix socket; nil on TCP.
    package var credentials: PeerCredentials?

    package init(address: String, certificate: PeerCertificate? = nil, credentials: PeerCredentials? = nil) {
        self.address = address
        self.certificate = certificate
        self.credentials = credentials
    }
}
