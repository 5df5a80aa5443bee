import ControlProtocol
import FileSystem
import PushClient
import RingwakeCore

/// Everything that a push needs, from the options and the local daemon.
struct PushPlan {
    let server: PushServer
    let credential: ProviderCredential
    let token: String
    let topic: String?

    /// From the options alone. Without a host, the push service is Apple's.
    init(
        _ target: PushTargetOptions, _ credentials: PushCredentialOptions, token: String, in context: CommandContext
    ) throws(RingwakeError) {
        server = try PushPlan.server(
            target, host: target.host ?? PushServer.appleHost(for: target.environment),
            port: target.port ?? PushServer.defaultPort, ca: target.ca)
        credential = try credentials.credential(orElse: nil, in: context)
        self.token = token
        topic = nil
    }

    /// For an app of the local daemon, which provides token, topic and address.
    init(
        _ target: PushTargetOptions, _ credentials: PushCredentialOptions, app: AppMessage, status: StatusMessage,
        in context: CommandContext
    ) throws(RingwakeError) {
        guard let token = app.tokens[target.environment.rawValue] else {
            throw RingwakeError(
                .notFound,
                "the app '\(app.app)' has no token for \(target.environment.rawValue) (it is \(app.state)); "
                    + "'ringwake app show \(app.app)' lists its tokens, --environment selects one")
        }
        let address = try PushPlan.address(target, status)
        let development = DevelopmentFiles(beside: status.serverCertificate?.file, app: app.app)
        server = try PushPlan.server(target, host: address.host, port: address.port, ca: target.ca ?? development?.ca)
        if !credentials.isGiven, development?.certificate == nil {
            throw RingwakeError(
                .notFound,
                "there is no development certificate 'voip-services-\(app.app).pem' next to the daemon's own; "
                    + "make one with 'ringwake setup --app \(app.app)', or give --cert or --key")
        }
        credential = try credentials.credential(orElse: development?.certificate, in: context)
        self.token = token
        topic = app.topic
    }

    private static func server(
        _ target: PushTargetOptions, host: String, port: UInt16, ca: String?
    ) throws(RingwakeError) -> PushServer {
        // libcurl doesn't say whether the file is missing or may not be read.
        if let ca { _ = try InputFile.read(ca) }
        return PushServer(
            host: host, port: port, caFile: ca, connectTo: target.connectTo,
            connectTimeout: min(.seconds(10), target.timeout.duration), timeout: target.timeout.duration)
    }

    /// `--host` and `--port`. Without `--host`, the daemon's first listener of the environment.
    private static func address(
        _ target: PushTargetOptions, _ status: StatusMessage
    ) throws(RingwakeError) -> (host: String, port: UInt16) {
        if let host = target.host, let port = target.port { return (host, port) }
        if let host = target.host { return (host, PushServer.defaultPort) }
        guard let listener = status.listeners.first(where: { $0.environment == target.environment.rawValue }),
            let address = reachable(listener.address)
        else {
            throw RingwakeError(
                .notFound,
                "the daemon has no listener for \(target.environment.rawValue) pushes; add one to "
                    + "'\(status.configuration)', or give --host and --port")
        }
        return (address.host, target.port ?? address.port)
    }

    /// Splits `address:port`. Replaces a wildcard address with the loopback address. Nil if the text has another
    /// form.
    static func reachable(_ address: String) -> (host: String, port: UInt16)? {
        guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]),
            port > 0
        else { return nil }
        switch address[..<colon] {
        case "": return nil
        case "0.0.0.0": return ("127.0.0.1", port)
        case "[::]": return ("[::1]", port)
        case let host: return (String(host), port)
        }
    }
}

/// Files of `ringwake certs dev-ca` next to the daemon's certificate.
private struct DevelopmentFiles {
    /// The CA's certificate; nil if there is none.
    let ca: String?
    /// The app's provider certificate with its key; nil if there is none.
    let certificate: String?

    init?(beside serverCertificate: String?, app: String) {
        guard let serverCertificate, let slash = serverCertificate.lastIndex(of: "/") else { return nil }
        let directory = String(serverCertificate[...slash])
        let existing = { (name: String) in
            FileSystem.exists(directory + name) ? directory + name : nil
        }
        ca = existing("ca.pem")
        certificate = existing("voip-services-\(app).pem")
    }
}
