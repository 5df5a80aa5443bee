import CRingwakeOpenSSL
package import RingwakeCore

/// Shared by all TLS connections of a client to one server: its name, whom to trust, protocols, and the newest session.
///
///     let context = try TLSClientContext(
///         serverName: "gateway.example", trust: .system, alpn: ["mqtt"], earliestTime: buildTime)
///     let connection = try TLSConnection(context: context, descriptor: connected)
///
/// TLS 1.3 only, without early data. A session is resumed only by later connections of the same context, so it was
/// verified for the same name against the same trust. One thread at a time uses a context and its connections.
package final class TLSClientContext {
    private let context: OwnedPointer
    private let verifier: ServerVerifier
    private let sessions = ClientSessions()

    private var pointer: OpaquePointer { context.pointer }

    /// - Parameters:
    ///   - serverName: the DNS name or IP address that the server's certificate must be for. A DNS name is sent
    ///     to the server (SNI).
    ///   - alpn: the protocols to offer, best first. The server may choose none: see
    ///     ``TLSConnection/negotiatedProtocol``.
    ///   - earliestTime: seconds since 1970; while the wall clock is before it, certificates are judged at it.
    ///   - identity: the certificate to show when the server asks for one.
    /// - Throws: `badCredential` for CAs, a certificate or a key that cannot be used, or a pin that isn't 32 bytes
    ///   long; `invalidRequest` for an impossible name.
    package init(
        serverName: String, trust: TLSTrust, alpn: [String], earliestTime: Int64, identity: TLSIdentity? = nil
    ) throws(RingwakeError) {
        OpenSSLErrors.clear()
        verifier = ServerVerifier(
            name: try ServerVerifier.name(serverName), trust: trust, earliestTime: earliestTime)
        context = try OwnedPointer(
            SSL_CTX_new(TLS_client_method()), freedBy: SSL_CTX_free, operation: "make a TLS context")
        try TLSSettings.configure(pointer, minimumVersion: .tls13)
        let names = try TLSSettings.wireNames(alpn)
        // It returns 0 for success, unlike the rest of OpenSSL.
        guard names.isEmpty || SSL_CTX_set_alpn_protos(pointer, names, UInt32(names.count)) == 0 else {
            throw .openSSL("offer \(alpn)")
        }
        try install(trust)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(pointer, verifyServer, Unmanaged.passUnretained(verifier).toOpaque())
        if let identity { _ = try TLSSettings.install(identity, in: pointer, owner: "client") }

        // OpenSSL's own store finds sessions for servers only; the newest one is kept by `sessions`.
        _ = ringwake_SSL_CTX_set_session_cache_mode(
            pointer, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        guard SSL_CTX_set_ex_data(pointer, ClientSessions.slot, Unmanaged.passUnretained(sessions).toOpaque()) == 1
        else { throw .openSSL("set up session tickets") }
        SSL_CTX_sess_set_new_cb(pointer, keepSession)
    }

    /// Whether the next connection offers a session.
    package var hasSession: Bool { sessions.newest != nil }

    /// Makes the next connection start without a session.
    package func forgetSession() { sessions.newest = nil }

    /// A new `SSL` of this context, which keeps OpenSSL's part of the context alive; the caller keeps this object.
    func makeConnection() -> OpaquePointer? {
        withExtendedLifetime(self) { SSL_new(pointer) }
    }

    /// Sets the server's name and the session of a new connection.
    func prepare(_ ssl: OpaquePointer) throws(RingwakeError) {
        if case .dns(let name) = verifier.name, ringwake_SSL_set_tlsext_host_name(ssl, name) != 1 {
            throw .openSSL("name the server '\(name)'")
        }
        // A copy, because OpenSSL marks the session of a connection that ends without a close alert as not resumable.
        let copy = sessions.newest?.withPointer { SSL_SESSION_dup($0) } ?? nil
        guard let session = OwnedPointer(copy, freedBy: SSL_SESSION_free) else { return }
        guard SSL_set_session(ssl, session.pointer) == 1 else { throw .openSSL("offer a session") }
    }

    /// Called when a handshake has failed: the session isn't offered again, as it may be the reason.
    ///
    /// - Returns: The check that the server's certificate didn't pass, for a person; `nil` if another reason ended the
    ///   handshake.
    func failed() -> String? {
        forgetSession()
        return verifier.takeRefusal()
    }

    private func install(_ trust: TLSTrust) throws(RingwakeError) {
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else { throw .openSSL("read the system's CAs") }
        case .authorities(let pem):
            guard let store = SSL_CTX_get_cert_store(pointer),
                X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1
            else { throw .openSSL("make a store of CAs") }
            for authority in try PEM.certificates(in: pem, name: "CA") {
                guard authority.withPointer({ X509_STORE_add_cert(store, $0) }) == 1 else {
                    throw RingwakeError(
                        .badCredential, "OpenSSL refuses a CA: \(OpenSSLErrors.drainText()); check the file.")
                }
            }
        case .pin(let digest):
            guard digest.count == SHA256.digestBytes else {
                throw RingwakeError(
                    .badCredential,
                    "The pin has \(digest.count) bytes, not the \(SHA256.digestBytes) of a SHA-256 digest; "
                        + "copy the whole pin from the gateway.")
            }
        }
    }
}

/// The newest session of one server.
private final class ClientSessions {
    /// Where a context keeps it: the slot that OpenSSL reserves for the application.
    static let slot: Int32 = 0

    /// One `SSL_SESSION`.
    final class Session {
        private let owned: OwnedPointer

        init(_ owned: consuming OwnedPointer) { self.owned = owned }

        /// Lends the session to `body`, and keeps it alive during the call.
        func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
            withExtendedLifetime(self) { body(owned.pointer) }
        }
    }

    var newest: Session?
}

/// Keeps a copy of each session that the server gives out; the connection keeps its own.
private func keepSession(ssl: OpaquePointer?, session: OpaquePointer?) -> Int32 {
    guard let ssl, let session, let context = SSL_get_SSL_CTX(ssl),
        let data = SSL_CTX_get_ex_data(context, ClientSessions.slot),
        let copy = OwnedPointer(SSL_SESSION_dup(session), freedBy: SSL_SESSION_free)
    else { return 0 }
    Unmanaged<ClientSessions>.fromOpaque(data).takeUnretainedValue().newest = ClientSessions.Session(copy)
    return 0
}

/// OpenSSL's request to judge the server's chain.
private func verifyServer(store: OpaquePointer?, argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let store, let argument else { return 0 }
    return Unmanaged<ServerVerifier>.fromOpaque(argument).takeUnretainedValue().accepts(store) ? 1 : 0
}
