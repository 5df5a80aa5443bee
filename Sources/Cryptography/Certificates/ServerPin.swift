import CRingwakeOpenSSL
package import RingwakeCore

/// What clients should check a server's certificate against, if nobody tells them its CA.
package enum ServerPin: Equatable, Sendable {
    /// The CAs of every system vouch for it.
    case none
    /// The key of its own CA, whose certificate the server sends.
    case authority(sha256OfSPKI: [UInt8])
    /// Its own key. A renewed certificate must keep it.
    case key(sha256OfSPKI: [UInt8])

    /// Chooses by the server's certificate file: the certificate, and what it sends with it.
    ///
    /// - Throws: `badCredential` if the file has no certificate.
    package init(chainPEM: [UInt8]) throws(RingwakeError) {
        let chain = try Certificate.all(pem: chainPEM)
        guard let leaf = chain.first else {
            throw RingwakeError(.badCredential, "the file has no certificate; put the server's first into it")
        }
        if let authority = chain.dropFirst().last(where: { $0.isSelfSigned && $0.isCA }) {
            self = .authority(sha256OfSPKI: SHA256.digest(authority.publicKeyDER))
        } else if try Self.isTrustedBySystem(PEM.certificates(in: chainPEM, name: "server certificate")) {
            self = .none
        } else {
            self = .key(sha256OfSPKI: SHA256.digest(leaf.publicKeyDER))
        }
    }

    /// Looks only the CAs up that it needs, in the system's directory: reading all of them takes long.
    private static func isTrustedBySystem(_ chain: [X509Reference]) throws(RingwakeError) -> Bool {
        guard let leaf = chain.first else { return false }
        let store = try OwnedPointer(X509_STORE_new(), freedBy: X509_STORE_free, operation: "make a store of CAs")
        let context = try OwnedPointer(
            X509_STORE_CTX_new(), freedBy: X509_STORE_CTX_free, operation: "verify a certificate")
        let untrusted = try OwnedPointer(
            ringwake_sk_X509_new_null(), freedBy: ringwake_sk_X509_pop_free, operation: "verify a certificate")
        defer { OpenSSLErrors.clear() }
        guard let directory = X509_get_default_cert_dir(), X509_STORE_load_path(store.pointer, directory) == 1 else {
            return false
        }
        for link in chain.dropFirst() {
            link.withPointer { certificate in
                if X509_up_ref(certificate) == 1 { _ = ringwake_sk_X509_push(untrusted.pointer, certificate) }
            }
        }
        return leaf.withPointer { certificate in
            X509_STORE_CTX_init(context.pointer, store.pointer, certificate, untrusted.pointer) == 1
                && X509_verify_cert(context.pointer) == 1
        }
    }
}
