/// Which servers a TLS client takes for the one that it wants.
package enum TLSTrust: Equatable, Sendable {
    /// A server whose certificate leads to a CA of the operating system.
    case system
    /// A server whose certificate leads to one of these certificates (PEM); an intermediate is accepted like a root.
    case authorities([UInt8])
    /// A server with this key, or with a certificate from the CA with this key: SHA-256 of the SubjectPublicKeyInfo, 32
    /// bytes. Dates don't count. The server's name counts with a CA's key only. The server has to send the CA's
    /// certificate along with its own.
    case pin(sha256OfSPKI: [UInt8])
}
