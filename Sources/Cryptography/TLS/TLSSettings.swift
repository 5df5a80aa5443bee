import CRingwakeOpenSSL
import RingwakeCore

/// A version of TLS.
package enum TLSVersion: Sendable {
    case tls12
    case tls13

    /// OpenSSL's number.
    var number: Int32 {
        switch self {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }
}

/// A certificate with its key, as an end of TLS shows it.
package struct TLSIdentity: Sendable {
    /// The end's own certificate first, then its intermediates.
    package let chainPEM: [UInt8]
    /// The key of the first certificate, not encrypted.
    package let privateKeyPEM: [UInt8]

    package init(chainPEM: [UInt8], privateKeyPEM: [UInt8]) {
        self.chainPEM = chainPEM
        self.privateKeyPEM = privateKeyPEM
    }
}

/// What the contexts of both ends have in common.
enum TLSSettings {
    /// The AEAD suites of TLS 1.2 with forward secrecy; those of TLS 1.3 are OpenSSL's own list.
    private static let tls12Ciphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    private static let keyExchangeGroups = "X25519:P-256:P-384"
    private static let maximumProtocolNameBytes = 255

    /// Sets versions, ciphers and modes of an `SSL_CTX`.
    static func configure(_ context: OpaquePointer, minimumVersion: TLSVersion) throws(RingwakeError) {
        // A peer that closes without a close alert has ended like any other: the protocol above notices what is
        // missing.
        _ = SSL_CTX_set_options(
            context,
            ringwake_SSL_OP_NO_RENEGOTIATION | ringwake_SSL_OP_NO_COMPRESSION | ringwake_SSL_OP_IGNORE_UNEXPECTED_EOF)
        let mode =
            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        _ = ringwake_SSL_CTX_set_mode(context, Int(mode))
        // With AUTO_RETRY, one read would continue for as long as the peer sends records without data (RFC 8446
        // section 4.6.3: KeyUpdate has no limit), and no other connection would be served.
        _ = ringwake_SSL_CTX_clear_mode(context, Int(SSL_MODE_AUTO_RETRY))
        guard ringwake_SSL_CTX_set_min_proto_version(context, minimumVersion.number) == 1,
            SSL_CTX_set_cipher_list(context, tls12Ciphers) == 1,
            ringwake_SSL_CTX_set1_groups_list(context, keyExchangeGroups) == 1
        else { throw .openSSL("set up TLS 1.2 and 1.3") }
    }

    /// Installs an end's certificates and key in an `SSL_CTX`.
    ///
    /// - Parameter owner: whose they are, as in "server", for messages.
    /// - Returns: The end's own certificate.
    static func install(
        _ identity: TLSIdentity, in context: OpaquePointer, owner: String
    ) throws(RingwakeError) -> Certificate {
        let chain = try PEM.certificates(in: identity.chainPEM, name: "\(owner) certificate")
        guard let first = chain.first, let certificate = Certificate(first) else {
            throw .openSSL("read the \(owner) certificate")
        }
        let key = try PrivateKey(pem: identity.privateKeyPEM)
        for (index, link) in chain.enumerated() {
            let installed = link.withPointer { certificate in
                index == 0
                    ? SSL_CTX_use_certificate(context, certificate)
                    : Int32(truncatingIfNeeded: ringwake_SSL_CTX_add1_chain_cert(context, certificate))
            }
            guard installed == 1 else {
                throw RingwakeError(
                    .badCredential,
                    "OpenSSL refuses certificate \(index + 1) of the \(owner)'s chain: \(OpenSSLErrors.drainText()); "
                        + "use an EC P-256 key, or RSA of 2048 bits or more.")
            }
        }
        guard key.isKey(of: certificate) else {
            throw RingwakeError(
                .badCredential,
                "The \(owner)'s private key does not belong to its certificate (\(certificate.title)); "
                    + "name the key that the certificate was issued for.")
        }
        guard key.withPointer({ SSL_CTX_use_PrivateKey(context, $0) }) == 1, SSL_CTX_check_private_key(context) == 1
        else {
            throw RingwakeError(
                .badCredential,
                "OpenSSL refuses the \(owner)'s private key: \(OpenSSLErrors.drainText()); "
                    + "use an EC P-256 key, or RSA of 2048 bits or more.")
        }
        return certificate
    }

    /// Protocol names in the form that ALPN carries: each name after its length (RFC 7301 section 3.1).
    static func wireNames(_ names: [String]) throws(RingwakeError) -> [UInt8] {
        var bytes: [UInt8] = []
        for name in names {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
                throw RingwakeError(
                    .invalidRequest,
                    "The ALPN name '\(name)' is not 1 to \(maximumProtocolNameBytes) bytes long; "
                        + "use names such as 'h2'.")
            }
            bytes.append(length)
            bytes.append(contentsOf: name.utf8)
        }
        return bytes
    }
}
