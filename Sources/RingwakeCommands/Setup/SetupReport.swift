import ControlProtocol
import FileSystem
import RingwakeCore
import VoIPCertificates

/// Finds out what the sender needs after a setup, and what is to be done next.
struct SetupReport {
    let app: AppID
    let made: DevelopmentCredentials
    /// As the daemon reads it.
    let configuration: ConfigurationMessage
    /// Names that the user gave; the first is the sender's.
    let hosts: [String]
    let names: LocalNames
    /// Whether it is the configuration of the system's or the user's service.
    let isStandard: Bool
    let isRoot: Bool

    /// Reloads the daemon if it runs with this configuration, and tells everything.
    func message(
        files: [SetupMessage.File], notes: [String], endpoint: SetupMessage.Endpoint? = nil
    ) throws(RingwakeError) -> SetupMessage {
        var notes = notes
        let client = ControlClient(path: configuration.controlSocket, secret: nil)
        let (daemon, status) =
            try endpoint == nil ? reload(client) : (.init(state: .running), client.get(.init("status")))
        var tokens: [String: String] = [:]
        if daemon.state == .running {
            let app: AppMessage = try client.get(RequestTarget("apps", app.rawValue))
            tokens = app.tokens
        } else if let status {
            notes.append("Another daemon runs, with \(status.configuration); it was left alone.")
        }
        let sender = try sender(status: daemon.state == .running ? status : nil, tokens: tokens, &notes)
        if endpoint == nil { notes.insert(contentsOf: risk(sender), at: 0) }
        return SetupMessage(
            configuration: configuration.file, files: files, app: app.rawValue, sender: sender, daemon: daemon,
            notes: notes, next: next(daemon), proof: proof(sender), endpoint: endpoint)
    }

    private func reload(_ client: ControlClient) throws(RingwakeError) -> (SetupMessage.Daemon, StatusMessage?) {
        do throws(RingwakeError) {
            let status: StatusMessage = try client.get(RequestTarget("status"))
            guard InputFile.absolute(status.configuration) == InputFile.absolute(configuration.file) else {
                return (.init(state: .notRunning), status)
            }
            let reload: ReloadMessage = try client.post(RequestTarget("reload"))
            return (.init(state: .running, needsRestart: reload.needsRestart), status)
        } catch {
            guard error.code == .daemonNotRunning else { throw error }
            return (.init(state: .notRunning), nil)
        }
    }

    private func sender(
        status: StatusMessage?, tokens: [String: String], _ notes: inout [String]
    ) throws(RingwakeError) -> SetupMessage.Sender {
        // A running daemon knows which port it got for port 0.
        let listeners =
            status?.listeners.map { ($0.address, $0.environment) }
            ?? configuration.listeners.map { ($0.address, $0.environment) }
        guard let listener = listeners.first, let colon = listener.0.lastIndex(of: ":"),
            let port = Int(listener.0[listener.0.index(after: colon)...])
        else {
            throw RingwakeError(.badConfiguration, "\(configuration.file) has no [[listener]]; add one")
        }
        let host = try host(on: String(listener.0[..<colon]), &notes)
        let path = { (kind: DevelopmentCredentials.Kind) in InputFile.absolute(made.path(of: kind) ?? "") }
        return SetupMessage.Sender(
            url: "https://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)", host: host, port: port,
            environment: listener.1, topic: made.topic, tokens: tokens, ca: path(.authorityCertificate),
            certificate: path(.providerCertificate), pkcs12: path(.providerPKCS12), key: path(.tokenKey),
            keyID: made.keyID, teamID: made.teamID)
    }

    /// The host name for a listener's address. It is one of the certificate's.
    private func host(on address: String, _ notes: inout [String]) throws(RingwakeError) -> String {
        let bare = address.hasPrefix("[") ? String(address.dropFirst().dropLast()) : address
        let isAny = bare == "0.0.0.0" || bare == "::"
        let certified = try DevelopmentAuthority.serverNames(in: made.directory)
        if let first = hosts.first { return first }
        let local = ["localhost", "127.0.0.1", "::1"]
        let wanted = isAny ? names.preferred : bare
        if let wanted, certified.contains(wanted) { return wanted }
        let others = certified.filter { !local.contains($0) && !$0.contains("*") }
        // A full host name is one that the user gave earlier: an address would have been this machine's.
        if let name = others.first(where: { $0.contains(".") && !$0.contains(":") && $0.last?.isNumber == false }) {
            return name
        }
        if let wanted {
            notes.append(
                "The certificate is not for \(wanted), this device's name or address now; 'ringwake setup --host "
                    + "\(wanted)' adds it.")
        }
        return others.first ?? "localhost"
    }

    private func risk(_ sender: SetupMessage.Sender) -> [String] {
        let isLocal = configuration.listeners.allSatisfy {
            $0.address.hasPrefix("127.") || $0.address.hasPrefix("[::1]")
        }
        guard !isLocal else {
            return ["Only programs on this device reach it. For others set the address of its [[listener]]."]
        }
        return [
            "Whoever reaches port \(sender.port) can connect, but only the team's certificate or key is accepted. Let your "
                + "firewall pass the sender to this port, and nobody else.",
            "Copy the CA and either the certificate or the key to the sender, over a connection that nobody reads.",
        ]
    }

    private func next(_ daemon: SetupMessage.Daemon) -> [String] {
        let (sudo, user) = (isRoot ? "sudo " : "", isRoot ? "" : "--user ")
        guard daemon.state == .notRunning else {
            return daemon.needsRestart.isEmpty ? [] : ["\(sudo)systemctl \(user)restart ringwaked"]
        }
        let meaning = "    # its device tokens, once the daemon runs"
        guard isStandard else {
            let socket = configuration.controlSocket
            return [
                "ringwaked --config \(configuration.file)", "ringwake app show \(app) --socket \(socket)\(meaning)",
            ]
        }
        let show = "\(sudo)ringwake app show \(app)\(meaning)"
        let linger = isRoot ? [] : ["loginctl enable-linger    # to ring before the first login"]
        return ["\(sudo)systemctl \(user)enable --now ringwaked"] + linger + [show]
    }

    private func proof(_ sender: SetupMessage.Sender) -> SetupMessage.Proof {
        let token = sender.tokens[sender.environment] ?? "TOKEN"
        let socket = isStandard ? "" : " --socket \(configuration.controlSocket)"
        let isDevelopment = sender.environment == PushEnvironment.development.rawValue
        return SetupMessage.Proof(
            here: (isStandard && isRoot ? "sudo " : "") + "ringwake push --app \(app)"
                + (isDevelopment ? "" : " --environment \(sender.environment)") + " --trace" + socket,
            sender: "curl --http2 --cacert \(sender.ca) --cert \(sender.certificate) --header 'apns-push-type: voip' "
                + "--header 'apns-topic: \(sender.topic)' --data '{}' \(sender.url)/3/device/\(token)")
    }
}
