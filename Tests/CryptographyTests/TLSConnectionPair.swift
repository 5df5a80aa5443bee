import Cryptography
import RingwakeCore

/// Both ends of this module over a socket pair, driven turn by turn.
final class TLSConnectionPair {
    private static let maximumTurns = 1000

    let sockets = SocketPair()
    let server: TLSConnection
    let client: TLSConnection
    private(set) var serverProgress = TLSProgress.wantsRead
    private(set) var clientProgress = TLSProgress.wantsWrite

    init(server context: TLSServerContext, client clientContext: TLSClientContext) throws {
        server = try TLSConnection(context: context, descriptor: sockets.server)
        client = try TLSConnection(context: clientContext, descriptor: sockets.client)
    }

    /// Runs the handshake until both ends have a result.
    @discardableResult
    func handshake() -> Self {
        for _ in 0..<Self.maximumTurns where clientProgress.isWaiting || serverProgress.isWaiting {
            if clientProgress.isWaiting { clientProgress = client.handshake() }
            if serverProgress.isWaiting { serverProgress = server.handshake() }
        }
        return self
    }

    /// Whether both ends are done.
    var isDone: Bool { clientProgress == .done && serverProgress == .done }

    /// Why the client has refused the server; an empty text if it hasn't.
    var refusal: String {
        guard case .failed(let reason) = clientProgress else { return "" }
        return reason
    }

    /// Has the client take in what comes after the handshake: a ticket, if there is one.
    func settle() -> TLSResult { client.receive().0 }
}

extension TLSProgress {
    var isWaiting: Bool { self == .wantsRead || self == .wantsWrite }
}

extension TLSConnection {
    func receive(capacity: Int = 65_536) -> (TLSResult, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: capacity)
        let result = buffer.withUnsafeMutableBytes { read(into: $0) }
        guard case .bytes(let count) = result else { return (result, []) }
        return (result, Array(buffer.prefix(count)))
    }

    func send(_ text: String) -> TLSResult { Array(text.utf8).withUnsafeBytes { write($0) } }
}

extension CertificateFixtures {
    /// A certificate for the server's key.
    func server(
        for names: [SubjectAlternativeName] = [.dns("localhost")], from: Int64 = -3600, to: Int64 = 30 * day,
        by issuer: CertificateIssuer? = nil
    ) throws -> Certificate {
        try (issuer ?? self.issuer).issue(Self.serverTemplate(names, from: now + from, to: now + to), for: serverKey)
    }

    static func serverTemplate(
        _ names: [SubjectAlternativeName], from: Int64, to: Int64
    ) -> CertificateTemplate {
        CertificateTemplate(
            subject: .init(commonName: "gateway"), role: .server(names), notBefore: from, notAfter: to)
    }

    /// A gateway's context that shows these certificates.
    func gatewayContext(
        showing chain: [Certificate]? = nil, takesDeviceKeys: Bool = false, providerCAsPEM: [UInt8]? = nil
    ) throws -> TLSServerContext {
        try TLSServerContext(
            certificateChainPEM: (chain ?? [server]).flatMap { try $0.pem }, privateKeyPEM: serverKey.pem,
            providerCAsPEM: providerCAsPEM, alpn: ["mqtt", "h2"], minimumVersion: .tls13,
            takesDeviceKeys: takesDeviceKeys)
    }

    /// A device's context that trusts the CA of these fixtures, if nothing else is said.
    func deviceContext(
        _ trust: TLSTrust? = nil, name: String = "localhost", alpn: [String] = ["mqtt"], earliestTime: Int64 = 0,
        identity: TLSIdentity? = nil
    ) throws -> TLSClientContext {
        try TLSClientContext(
            serverName: name, trust: trust ?? .authorities(authority.pem), alpn: alpn, earliestTime: earliestTime,
            identity: identity)
    }

    /// A certificate that signs itself, as a device shows it, with its key.
    func deviceIdentity(_ key: PrivateKey) throws -> TLSIdentity {
        let template = CertificateTemplate(
            subject: .init(commonName: "device"), role: .authority, notBefore: now - 2 * Self.day,
            notAfter: now - Self.day)
        return TLSIdentity(
            chainPEM: try CertificateIssuer.selfSigned(template, key: key).pem, privateKeyPEM: try key.pem)
    }
}

extension TLSTrust {
    /// A pin of the certificate's key.
    static func pin(_ certificate: Certificate) -> TLSTrust {
        .pin(sha256OfSPKI: SHA256.digest(certificate.publicKeyDER))
    }
}
