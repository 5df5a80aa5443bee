internal import DaemonConfiguration
internal import Cryptography
internal import DeviceLink
internal import FileSystem
internal import Glibc
internal import PushGateway
internal import RingwakeCore
internal import VoIPCertificates

/// The certificates and keys of the configuration, read and checked. A reload replaces all of them.
struct Credentials {
    /// TLS settings of the listeners; nil without `[server]`.
    let tls: TLSServerContext?
    /// The same for the port of links; nil if there is none.
    let linkTLS: TLSServerContext?
    /// The file of the server certificate; nil without `[server]`.
    private let serverFile: String?
    /// What senders trust the server certificate by.
    let authorities: SenderAuthorities
    /// The teams that may send.
    let gateway: GatewayConfiguration
    /// The files, to find out what is wrong with them.
    var inventory: CredentialInventory

    /// Maximum bytes of a PEM file. A bundle of all public CAs is smaller.
    private static let maximumFileSize = 4 << 20

    /// Reads every file that `configuration` names. A team with a wrong key is set aside; what `former` has for it stays.
    ///
    /// - Throws: `badConfiguration` with the file and its error.
    init(
        _ configuration: inout Configuration,
        former: (configuration: Configuration, gateway: GatewayConfiguration)? = nil
    ) throws(RingwakeError) {
        serverFile = configuration.server?.certificateFile
        let gateway = configuration.gateway
        tls = try configuration.server.map { server throws(RingwakeError) in
            try Credentials.context(server, alsoLinks: gateway.onPushPorts)
        }
        linkTLS =
            gateway.listen == nil
            ? nil
            : try configuration.server.map { server throws(RingwakeError) in try Credentials.linkContext(server) }
        authorities = SenderAuthorities(
            configured: try configuration.senders.authoritiesFile.map { file throws(RingwakeError) in
                try Credentials.senderAuthorities(file)
            }, issuer: configuration.server.flatMap { Credentials.issuer(of: $0) })
        var teams: [GatewayConfiguration.Team] = []
        for team in configuration.teams {
            do throws(RingwakeError) {
                let keys = try Credentials.keys(of: team)
                teams.append(
                    GatewayConfiguration.Team(
                        id: team.id, topics: team.topics, keys: keys, getsOutcome: team.getsOutcome,
                        webhook: try Credentials.webhook(of: team)))
            } catch {
                configuration.setAside(team: team.id, file: team.file, error, former: former?.configuration)
                if let kept = former?.gateway.teams[team.id] { teams.append(kept) }
            }
        }
        self.gateway = GatewayConfiguration(teams: teams)
        inventory = CredentialInventory(configuration)
    }

    private static func keys(of team: Configuration.Team) throws(RingwakeError) -> [String: P256PublicKey] {
        var keys: [String: P256PublicKey] = [:]
        for key in team.keys {
            let name = "the key \(key.id) of team \(team.id)"
            let pem = try key.file.map { file throws(RingwakeError) in try read(file, name) }
            do {
                keys[key.id] = try P256PublicKey(pem: pem ?? Array((key.publicPEM ?? "").utf8))
            } catch {
                throw RingwakeError(.badConfiguration, "\(key.file ?? team.file), \(name): \(error.message)")
            }
        }
        return keys
    }

    private static func webhook(of team: Configuration.Team) throws(RingwakeError) -> Webhook? {
        guard let url = team.webhook, let file = team.webhookSecretFile else { return nil }
        let bytes = try read(file, "the webhook's secret of team \(team.id)")
        // libcurl reads it for each connection, and says so in its own words only.
        if let file = team.webhookCAFile { _ = try read(file, "the CA of the webhook of team \(team.id)") }
        do throws(RingwakeError) {
            return Webhook(url: url, secrets: try WebhookSecret.all(inFile: bytes), caFile: team.webhookCAFile)
        } catch {
            throw RingwakeError(.badConfiguration, "\(file): \(error.message)")
        }
    }

    /// A reload must not replace a valid server certificate by one that has expired: no sender would connect any more.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: `badConfiguration` with both dates.
    func refuseExpiredCertificate(insteadOf present: Credentials, at now: Int64) throws(RingwakeError) {
        guard let new = tls?.certificate, let old = present.tls?.certificate, new.notAfter < now, old.notAfter >= now,
            let file = serverFile
        else { return }
        let text = { (seconds: Int64) in GregorianDate.text(secondsSince1970: seconds) + "Z" }
        throw RingwakeError(
            .badConfiguration,
            "\(file) expired on \(text(new.notAfter)), and the certificate in use is valid until "
                + "\(text(old.notAfter)), so that one stays; renew the file ('ringwake certs renew' for a development CA)"
        )
    }

    /// A port for links alone: TLS 1.3, and any client certificate, whose key is what counts.
    private static func linkContext(_ server: Configuration.Server) throws(RingwakeError) -> TLSServerContext {
        let certificate = try read(server.certificateFile, "the server certificate")
        let key = try read(server.keyFile, "the server key")
        return try TLSServerContext(
            certificateChainPEM: certificate, privateKeyPEM: key, providerCAsPEM: nil, alpn: [linkProtocol],
            minimumVersion: .tls13, takesDeviceKeys: true)
    }

    private static func context(
        _ server: Configuration.Server, alsoLinks: Bool
    ) throws(RingwakeError) -> TLSServerContext {
        let certificate = try read(server.certificateFile, "the server certificate")
        let key = try read(server.keyFile, "the server key")
        var authorities: [UInt8] = []
        for file in server.providerCAFiles {
            let bytes = try read(file, "a provider CA")
            do throws(RingwakeError) {
                authorities += try Certificate.pem(ofFile: bytes) + [UInt8(ascii: "\n")]
            } catch {
                throw RingwakeError(.badConfiguration, "a provider CA in \(file): \(error.message)")
            }
        }
        do {
            return try TLSServerContext(
                certificateChainPEM: certificate, privateKeyPEM: key,
                providerCAsPEM: server.providerCAFiles.isEmpty ? nil : authorities,
                alpn: alsoLinks ? ["h2", linkProtocol] : ["h2"], takesDeviceKeys: alsoLinks)
        } catch {
            throw RingwakeError(
                .badConfiguration, "[server] with \(server.certificateFile) and \(server.keyFile): \(error.message)")
        }
    }

    private static func senderAuthorities(_ file: String) throws(RingwakeError) -> String {
        let bytes = try read(file, "the CA of [senders]")
        do throws(RingwakeError) {
            return try SenderAuthorities.pem(ofFile: bytes)
        } catch {
            throw RingwakeError(.badConfiguration, "the CA of [senders] in \(file): \(error.message)")
        }
    }

    /// The CA that issued the server certificate, if it is in one of the files of `[server]`. ``context(_:alsoLinks:)``
    /// has checked these.
    private static func issuer(of server: Configuration.Server) -> String? {
        guard let bytes = try? read(server.certificateFile, "the server certificate"),
            let chain = try? Certificate.all(pem: bytes)
        else { return nil }
        let authorities = server.providerCAFiles.flatMap { (file) -> [Certificate] in
            let pem = (try? read(file, "a provider CA")).flatMap { try? Certificate.pem(ofFile: $0) }
            return pem.flatMap { try? Certificate.all(pem: $0) } ?? []
        }
        return SenderAuthorities.issuer(of: chain, among: authorities)
    }

    private static func read(_ file: String, _ what: String) throws(RingwakeError) -> [UInt8] {
        do {
            return try FileSystem.read(file, maximumSize: maximumFileSize)
        } catch {
            let advice =
                switch error.errno {
                case ENOENT: "put it back; where nothing was made yet, run 'ringwake setup'"
                case EACCES: "let the daemon's user read it: check owner, group and mode"
                default: "correct the path, or the file"
                }
            throw RingwakeError(.badConfiguration, "\(what) cannot be read from \(file): \(error.reason); \(advice)")
        }
    }
}
