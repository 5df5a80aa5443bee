import CRingwakeOpenSSL
package import RingwakeCore

/// Shared by all TLS connections of a listener: certificate, key, provider CAs, protocols.
///
///     let context = try TLSServerContext(
///         certificateChainPEM: chain, privateKeyPEM: key, providerCAsPEM: authorities, alpn: ["h2"])
///     let connection = try TLSConnection(context: context, descriptor: accepted)
///
/// TLS 1.2 and 1.3 with forward secrecy (Mozilla's "intermediate" of 2025), no renegotiation, no compression.
/// Sessions are resumed by tickets alone: the server keeps nothing for a client that has gone. A new context
/// has new ticket keys, so a session never outlives the provider CAs that it was verified against.
package final class TLSServerContext {
    /// The largest certificate message taken from a client, in bytes; real provider chains are under 6 KiB.
    private static let maximumClientChainBytes = 32 * 1024
    /// The longest chain from a client certificate to a provider CA.
    private static let maximumChainDepth: Int32 = 8
    /// How long a ticket may be resumed, in seconds.
    private static let ticketLifetime = 2 * 60 * 60
    /// Tickets sent after a TLS 1.3 handshake; one is what a provider that reconnects needs. With device keys,
    /// ``TLSConnection/handshake()`` sends it instead, as it knows whether a certificate was shown.
    private static let ticketsPerHandshake = 1
    /// OpenSSL refuses to resume a session with a client certificate unless the application is named.
    private static let sessionIDContext: [UInt8] = Array("ringwake".utf8)

    private let context: OwnedPointer
    private let protocols: ALPNProtocols?

    /// The server's own certificate.
    package let certificate: Certificate
    /// Whether clients are asked for a certificate of any issuer, whose key the caller looks at.
    package let takesDeviceKeys: Bool

    /// A digest of the provider CAs; nil when client certificates are not verified.
    private let providerCAs: [UInt8]?

    private var pointer: OpaquePointer { context.pointer }

    /// Whether clients' certificates are verified, against the provider CAs.
    var verifiesClients: Bool { providerCAs != nil }

    /// - Parameters:
    ///   - certificateChainPEM: the server's certificate first, then its intermediates.
    ///   - privateKeyPEM: the key of the first certificate, not encrypted.
    ///   - providerCAsPEM: the CAs that may sign client certificates; an intermediate is accepted like a root. `nil`:
    ///     client certificates are not verified, nor asked for without `takesDeviceKeys`.
    ///   - alpn: the protocols of the server, best first. A client that offers none of them is refused with
    ///     `no_application_protocol`; a client that offers nothing is served.
    ///   - minimumVersion: the oldest version that is taken from a client.
    ///   - takesDeviceKeys: asks clients for a certificate, and takes any that they show: the caller looks at
    ///     ``PeerCertificate/subjectPublicKeyInfo``, which the handshake proves. A TLS 1.3 client that showed one gets
    ///     no session ticket, because a resumed handshake couldn't ask again (RFC 8446 section 4.3.2).
    /// - Throws: `badCredential` for PEM that cannot be read, an encrypted key, or a key of another certificate.
    package init(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], providerCAsPEM: [UInt8]?, alpn: [String],
        minimumVersion: TLSVersion = .tls12, takesDeviceKeys: Bool = false
    ) throws(RingwakeError) {
        OpenSSLErrors.clear()
        context = try OwnedPointer(
            SSL_CTX_new(TLS_server_method()), freedBy: SSL_CTX_free, operation: "make a TLS context")
        protocols = try alpn.isEmpty ? nil : ALPNProtocols(alpn)
        self.takesDeviceKeys = takesDeviceKeys
        providerCAs = providerCAsPEM.map { SHA256.digest($0) }
        certificate = try TLSSettings.install(
            TLSIdentity(chainPEM: certificateChainPEM, privateKeyPEM: privateKeyPEM), in: context.pointer,
            owner: "server")

        try TLSSettings.configure(pointer, minimumVersion: minimumVersion)
        try configureResumption()
        if let providerCAsPEM {
            try trust(PEM.certificates(in: providerCAsPEM, name: "provider CA"))
        }
        if verifiesClients || takesDeviceKeys {
            askForClientCertificates()
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

    private func configureResumption() throws(RingwakeError) {
        _ = ringwake_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        _ = SSL_CTX_set_timeout(pointer, Self.ticketLifetime)
        guard SSL_CTX_set_num_tickets(pointer, takesDeviceKeys ? 0 : Self.ticketsPerHandshake) == 1,
            SSL_CTX_set_session_id_context(pointer, Self.sessionIDContext, UInt32(Self.sessionIDContext.count)) == 1
        else { throw .openSSL("set up session tickets") }
    }

    private func trust(_ authorities: [X509Reference]) throws(RingwakeError) {
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
    }

    private func askForClientCertificates() {
        _ = ringwake_SSL_CTX_set_max_cert_list(pointer, Self.maximumClientChainBytes)
        SSL_CTX_set_verify_depth(pointer, Self.maximumChainDepth)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        if verifiesClients {
            SSL_CTX_set_cert_verify_callback(pointer, verifyAndContinue, nil)
        } else {
            SSL_CTX_set_cert_verify_callback(pointer, continueUnverified, nil)
        }
    }
}

/// The protocols of a server in the form that OpenSSL compares: each name after its length.
private final class ALPNProtocols {
    let wire: UnsafeMutableBufferPointer<UInt8>

    init(_ names: [String]) throws(RingwakeError) {
        let bytes = try TLSSettings.wireNames(names)
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

/// Takes a client's certificate without looking at its chain: OpenSSL has the client prove the key in any case. The
/// verdict must not read as trust.
private func continueUnverified(store: OpaquePointer?, argument: UnsafeMutableRawPointer?) -> Int32 {
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
    return 1
}
