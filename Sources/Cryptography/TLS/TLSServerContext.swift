import CRingwakeOpenSSL
package import RingwakeCore

/// Shared by all TLS connections of a listener: certificate, key, provider CAs, protocols.
///
///     let context = try TLSServerContext(
///         certificateChainPEM: chain, privateKeyPEM: key, providerCAsPEM: authorities, alpn: ["h2"])
///     let connection = try TLSServerConnection(context: context, descriptor: accepted)
///
/// TLS 1.2 and 1.3 with forward secrecy (Mozilla's "intermediate" of 2025), no renegotiation, no compression.
/// Sessions are resumed by tickets alone: the server keeps nothing for a client that has gone. A new context
/// has new ticket keys, so a session never outlives the provider CAs that it was verified against.
package final class TLSServerContext {
    /// The AEAD suites of TLS 1.2 with forward secrecy; those of TLS 1.3 are OpenSSL's own list.
    private static let tls12Ciphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    private static let keyExchangeGroups = "X25519:P-256:P-384"
    /// The largest certificate message taken from a client, in bytes; real provider chains are under 6 KiB.
    private static let maximumClientChainBytes = 32 * 1024
    /// The longest chain from a client certificate to a provider CA.
    private static let maximumChainDepth: Int32 = 8
    /// How long a ticket may be resumed, in seconds.
    private static let ticketLifetime = 2 * 60 * 60
    /// Tickets sent after a TLS 1.3 handshake; one is what a provider that reconnects needs.
    private static let ticketsPerHandshake = 1
    /// OpenSSL refuses to resume a session with a client certificate unless the application is named.
    private static let sessionIDContext: [UInt8] = Array("ringwake".utf8)

    private let context: OwnedPointer
    private let protocols: ALPNProtocols?

    /// The server's own certificate.
    package let certificate: Certificate
    /// Whether clients are asked for a certificate.
    package let asksForClientCertificate: Bool

    /// A digest of the provider CAs; nil when clients are not asked for a certificate.
    private let providerCAs: [UInt8]?

    private var pointer: OpaquePointer { context.pointer }

    /// - Parameters:
    ///   - certificateChainPEM: the server's certificate first, then its intermediates.
    ///   - privateKeyPEM: the key of the first certificate, not encrypted.
    ///   - providerCAsPEM: the CAs that may sign client certificates; an intermediate is accepted like a root. `nil`:
    ///     clients are not asked for a certificate.
    ///   - alpn: the protocols of the server, best first. A client that offers none of them is refused with
    ///     `no_application_protocol`; a client that offers nothing is served.
    /// - Throws: `badCredential` for PEM that cannot be read, an encrypted key, or a key of another certificate.
    package init(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], providerCAsPEM: [UInt8]?, alpn: [String]
    ) throws(RingwakeError) {
        OpenSSLErrors.clear()
        context = try OwnedPointer(
            SSL_CTX_new(TLS_server_method()), freedBy: SSL_CTX_free, operation: "make a TLS context")
        protocols = try alpn.isEmpty ? nil : ALPNProtocols(alpn)
        asksForClientCertificate = providerCAsPEM != nil
        providerCAs = providerCAsPEM.map { SHA256.digest($0) }
        let chain = try PEM.certificates(in: certificateChainPEM, name: "server certificate")
        guard let first = chain.first, let certificate = Certificate(first) else {
            throw .openSSL("read the server certificate")
        }
        self.certificate = certificate

        try configureProtocol()
        try configureResumption()
        try install(chain: chain, keyPEM: privateKeyPEM)
        if let providerCAsPEM {
            try verifyClients(against: PEM.certificates(in: providerCAsPEM, name: "provider CA"))
        }
        if let protocols {
            SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, Unmanaged.passUnretained(protocols).toOpaque())
        }
    }

    /// Whether both contexts verify client certificates against the same CAs.
    package func judgesClients(as other: TLSServerContext) -> Bool { providerCAs == other.providerCAs }

    /// A new `SSL` of this context, which keeps OpenSSL's part of the context alive; the caller keeps this object.
    func makeConnection() -> OpaquePointer? {
        withExtendedLifetime(self) { SSL_new(pointer) }
    }

    private func configureProtocol() throws(RingwakeError) {
        // A peer that closes without a close alert has ended like any other: HTTP/2 notices what is missing.
        _ = SSL_CTX_set_options(
            pointer,
            ringwake_SSL_OP_NO_RENEGOTIATION | ringwake_SSL_OP_NO_COMPRESSION | ringwake_SSL_OP_IGNORE_UNEXPECTED_EOF)
        let mode =
            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        _ = ringwake_SSL_CTX_set_mode(pointer, Int(mode))
        // With AUTO_RETRY, one read would continue for as long as the peer sends records without data (RFC 8446
        // section 4.6.3: KeyUpdate has no limit), and no other connection would be served.
        _ = ringwake_SSL_CTX_clear_mode(pointer, Int(SSL_MODE_AUTO_RETRY))
        guard ringwake_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION) == 1,
            SSL_CTX_set_cipher_list(pointer, Self.tls12Ciphers) == 1,
            ringwake_SSL_CTX_set1_groups_list(pointer, Self.keyExchangeGroups) == 1
        else { throw .openSSL("set up TLS 1.2 and 1.3") }
    }

    private func configureResumption() throws(RingwakeError) {
        _ = ringwake_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        _ = SSL_CTX_set_timeout(pointer, Self.ticketLifetime)
        guard SSL_CTX_set_num_tickets(pointer, Self.ticketsPerHandshake) == 1,
            SSL_CTX_set_session_id_context(pointer, Self.sessionIDContext, UInt32(Self.sessionIDContext.count)) == 1
        else { throw .openSSL("set up session tickets") }
    }

    private func install(chain: [X509Reference], keyPEM: [UInt8]) throws(RingwakeError) {
        let key = try PrivateKey(pem: keyPEM)
        for (index, link) in chain.enumerated() {
            let installed = link.withPointer { certificate in
                index == 0
                    ? SSL_CTX_use_certificate(pointer, certificate)
                    : Int32(truncatingIfNeeded: ringwake_SSL_CTX_add1_chain_cert(pointer, certificate))
            }
            guard installed == 1 else {
                throw RingwakeError(
                    .badCredential,
                    "OpenSSL refuses certificate \(index + 1) of the server's chain: \(OpenSSLErrors.drainText()); "
                        + "use an EC P-256 key, or RSA of 2048 bits or more.")
            }
        }
        guard key.isKey(of: certificate) else {
            throw RingwakeError(
                .badCredential,
                "The server's private key does not belong to its certificate (\(certificate.title)); "
                    + "name the key that the certificate was issued for.")
        }
        guard key.withPointer({ SSL_CTX_use_PrivateKey(pointer, $0) }) == 1, SSL_CTX_check_private_key(pointer) == 1
        else {
            throw RingwakeError(
                .badCredential,
                "OpenSSL refuses the server's private key: \(OpenSSLErrors.drainText()); "
                    + "use an EC P-256 key, or RSA of 2048 bits or more.")
        }
    }

    private func verifyClients(against authorities: [X509Reference]) throws(RingwakeError) {
        guard let store = SSL_CTX_get_cert_store(pointer) else { throw .openSSL("make a store of provider CAs") }
        // PARTIAL_CHAIN: every certificate in the file is trusted, also an intermediate without its root, which is
        // how Apple's WWDR certificate is distributed.
        guard X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1 else {
            throw .openSSL("trust the provider CAs")
        }
        for authority in authorities {
            let isAdded = authority.withPointer {
                X509_STORE_add_cert(store, $0) == 1 && SSL_CTX_add_client_CA(pointer, $0) == 1
            }
            guard isAdded else {
                throw RingwakeError(
                    .badCredential, "OpenSSL refuses a provider CA: \(OpenSSLErrors.drainText()); check the file.")
            }
        }
        _ = ringwake_SSL_CTX_set_max_cert_list(pointer, Self.maximumClientChainBytes)
        SSL_CTX_set_verify_depth(pointer, Self.maximumChainDepth)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(pointer, verifyAndContinue, nil)
    }
}

/// The protocols of a server in the form that OpenSSL compares: each name after its length.
private final class ALPNProtocols {
    private static let maximumNameBytes = 255

    let wire: UnsafeMutableBufferPointer<UInt8>

    init(_ names: [String]) throws(RingwakeError) {
        var bytes: [UInt8] = []
        for name in names {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
                throw RingwakeError(
                    .invalidRequest,
                    "The ALPN name '\(name)' is not 1 to \(Self.maximumNameBytes) bytes long; use names such as 'h2'.")
            }
            bytes.append(length)
            bytes.append(contentsOf: name.utf8)
        }
        wire = .allocate(capacity: bytes.count)
        _ = wire.initialize(from: bytes)
    }

    deinit {
        wire.deallocate()
    }
}

/// ALPN: the first of the server's protocols that the client offers, or an alert (RFC 7301 section 3.2).
private func selectProtocol(
    ssl: OpaquePointer?, selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    selectedLength: UnsafeMutablePointer<UInt8>?, offered: UnsafePointer<UInt8>?, offeredLength: UInt32,
    argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let argument, let selected, let selectedLength, let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let server = Unmanaged<ALPNProtocols>.fromOpaque(argument).takeUnretainedValue().wire
    var choice: UnsafeMutablePointer<UInt8>?
    let outcome = SSL_select_next_proto(
        &choice, selectedLength, server.baseAddress, UInt32(server.count), offered, offeredLength)
    guard outcome == OPENSSL_NPN_NEGOTIATED, let choice else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    selected.pointee = UnsafePointer(choice)
    return SSL_TLSEXT_ERR_OK
}

/// Verifies a client's chain, and continues whatever the result is. The verdict, which is the first error found,
/// stays in the session (and in its ticket), so that HTTP can answer with it; an alert would explain nothing to the
/// provider.
private func verifyAndContinue(store: OpaquePointer?, argument: UnsafeMutableRawPointer?) -> Int32 {
    if X509_verify_cert(store) != 1, X509_STORE_CTX_get_error(store) == X509_V_OK {
        // A failure without an error would be read as trust.
        X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED)
    }
    return 1
}
