internal import DeviceServices
internal import HTTPServer
internal import Logging
internal import PushJournal
internal import Reachability
internal import RingwakeCore

// The keys of ringwaked.toml. Each key is one line here and a property that stores its value.

extension Configuration {
    static let table: [Setting<Configuration>] = [
        .init("state_directory", .path, \.stateDirectory, standard: "see above", needsRestart: true),
        .init("runtime_directory", .path, \.runtimeDirectory, standard: "see above", needsRestart: true),
        .init("control_group", .text, \.controlGroup, needsRestart: true),
        .init("role", .word, \.role, needsRestart: true),
        .init("server", .section(server, blank: Server()), \.serverOrBlank),
        .init(
            "listener",
            .sections(listener, blank: Listener(), id: "address") {
                $0.address.port == 0 ? nil : $0.address.description
            }, \.listeners),
        .init("senders", .section(senders), \.senders),
        .init("gateway", .section(gateway), \.gateway, needsRestart: true),
        .init("link", .section(link), \.link, needsRestart: true),
        .init(
            "team",
            .sections(team, blank: Team(), id: "id") {
                $0.id
            } check: { team, reader throws(RingwakeError) in
                try team.check(reader)
            }, \.teams),
        .init("calls", .section(AppPolicy.calls), \.policy),
        .init("strikes", .section(StrikeLimit.keys), \.policy.strikes),
        .init("wake", .section(wake), \.wake),
        .init("ring", .section(ring) { ring, reader throws(RingwakeError) in try ring.check(reader) }, \.ring),
        .init("audio", .section(audio) { audio, reader throws(RingwakeError) in try audio.check(reader) }, \.audio),
        .init(
            "restrictions",
            .section(restrictions) { rules, reader throws(RingwakeError) in try rules.check(reader) },
            \.restrictions),
        .init("awake", .section(AwakeSettings.keys), \.awake, needsRestart: true),
        .init("cellular", .section([.init("watch", .boolean, \.self)]), \.watchesCellular, needsRestart: true),
        .init("restoration", .section([.init("exclude", .groups, \.self)]), \.notRestored, needsRestart: true),
        .init("protection", .section(ProtectionSettings.keys), \.protection, needsRestart: true),
        .init("journal", .section(journal), \.journal, needsRestart: true),
        .init("reachability", .section(reachability), \.reachability),
        .init("log", .section([.init("level", .word, \.self)]), \.logLevel, needsRestart: true),
    ]

    private static let server: [Setting<Server>] = [
        .init("certificate", .path, \.certificateFile, isRequired: true),
        .init("key", .path, \.keyFile, isRequired: true),
        .init("provider_cas", .paths, \.providerCAFiles),
    ]

    private static let listener: [Setting<Listener>] = [
        .init("address", .address, \.address, isRequired: true),
        .init("environment", .word, \.environment),
    ]

    private static let senders: [Setting<SenderSettings>] = [
        .init("development", .sender, \.development, standard: "where the daemon listens"),
        .init("production", .sender, \.production, standard: "where the daemon listens"),
        .init("ca", .path, \.authoritiesFile, standard: "the CA that issued `server.certificate`"),
    ]

    private static let gateway: [Setting<GatewaySettings>] = [
        .init("listen", .address, \.listen),
        .init("on_push_ports", .boolean, \.onPushPorts),
        .init("address", .name, \.address, standard: "the host name, with the port of `listen`"),
        .init("admission", .word, \.admission),
        .init("hold", .duration(upTo: .seconds(5)), \.hold),
        .init("recovery", .boolean, \.allowsRecovery),
        .init("keepalive", .keepAlive, \.keepAliveStart, standard: "4m"),
        .init("keepalive_shortest", .keepAlive, \.keepAliveShortest, standard: "45s"),
        .init(
            "keepalive_longest", .keepAlive, \.keepAliveLongest,
            standard: "`28m` on cellular networks, `15m` on others"),
    ]

    private static let link: [Setting<LinkSettings>] = [
        .init("local_port", .number(0...65_535), \.localPort),
        .init("environments", .environments, \.environments),
        .init("name", .name, \.name, standard: "the host name"),
        .init("on_disagreement", .word, \.onDisagreement),
        .init("before_reset", .command("program"), \.beforeReset),
        .init("after_reset", .command("program"), \.afterReset),
    ]

    private static let team: [Setting<Team>] = [.init("id", .name, \.id, isRequired: true)] + teamFile

    /// The keys of a team's file, whose name has the id.
    static let teamFile: [Setting<Team>] = [
        .init("topics", .texts, \.topics, standard: "every topic"),
        .init("outcome", .boolean, \.getsOutcome),
        .init("webhook", .webhook, \.webhook),
        .init("webhook_secret", .path, \.webhookSecretFile),
        .init("webhook_ca", .path, \.webhookCAFile, standard: "the CAs of the system"),
        .init(
            "key",
            .sections(teamKey, blank: Team.Key(), id: "id") {
                $0.id
            } check: { key, reader throws(RingwakeError) in
                try key.check(reader)
            }, \.keys),
    ]

    private static let teamKey: [Setting<Team.Key>] = [
        .init("id", .text, \.id, isRequired: true),
        .init("file", .path, \.file),
        .init("public", .text, \.publicPEM),
    ]

    private static let wake: [Setting<WakeDefaults>] = [
        .init("way", .word, \.way, standard: "`unit` as a service, else `exec`"),
        .init("manager", .word, \.manager, standard: "`system` for the system's daemon, else `user`"),
    ]

    private static let ring: [Setting<RingSettings>] = [
        .init("command", .command("program"), \.command),
        .init("ringtone", .path, \.ringtone),
        .init("vibrate", .command("program"), \.vibrate),
        .init("waiting", .command("program"), \.waiting),
        .init("notifications", .boolean, \.notifications),
    ]

    private static let audio: [Setting<AudioSettings>] = [
        .init("backend", .word, \.backend, standard: "`program` for a user's daemon"),
        .init("socket", .path, \.socket),
        .init("program", .path, \.program, standard: "beside the daemon's own"),
        .init("calls", .word, \.calls),
        .init("ringing", .word, \.ringing),
        .init("activation", .duration(upTo: .seconds(30)), \.activation),
        .init("linger", .duration(upTo: .seconds(3600)), \.linger),
    ]

    private static let restrictions: [Setting<RestrictionSettings>] = [
        .init("allowed_level", .number(ScreenedCall.levels), \.allowedNumber, standard: "any"),
        .init("rating", .word, \.rating, standard: "any"),
        .init("explicit_content", .boolean, \.content.allowsExplicitContent),
        .init("video_calls", .boolean, \.content.allowsVideoCalls),
        .init("app_calls", .limit, \.limits.app, standard: "no limit"),
        .init("caller_calls", .limit, \.limits.caller, standard: "no limit"),
        .init("country", .text, \.country),
        .init("trunk", .text, \.trunk),
        .init("emergency_numbers", .texts, \.emergencyNumbers, standard: "`112` and `911`"),
    ]

    private static let journal: [Setting<JournalLimits>] = [
        .init("keep", .duration, \.maximumAge),
        .init("pushes", .number(of: "pushes", 10_000...10_000_000), \.maximumPushes),
    ]

    private static let reachability: [Setting<ReachabilityConfiguration>] = [
        .init("loss_hold", .duration(upTo: ReachabilityConfiguration.longestLossHold), \.lossHold),
        .init("filter_level", .number(ReachabilityConfiguration.filterLevels), \.filterLevel),
        .init(
            "interface", .sections(interface, blank: InterfaceOverride(name: ""), id: "name", most: 64) { $0.name },
            \.interfaces),
    ]

    private static let interface: [Setting<InterfaceOverride>] = [
        .init("name", .interface, \.name, isRequired: true),
        .init("type", .word, \.type, standard: "what the kernel says"),
        .init("expensive", .boolean, \.isExpensive, standard: "mobile networks are"),
        .init("constrained", .boolean, \.isConstrained, standard: "false"),
        .init("intervention_required", .boolean, \.interventionRequired),
        .init("on_demand", .boolean, \.connectionOnDemand),
    ]

    /// ``server`` without the optional, for the table.
    private var serverOrBlank: Server {
        get { server ?? Server() }
        set { server = newValue }
    }
}

extension AppPolicy {
    /// `[calls]` in ringwaked.toml and in an app's file.
    static let calls: [Setting<AppPolicy>] = [
        .init("report", .duration, \.deadlines.report),
        .init("ring", .duration, \.deadlines.ring),
        .init("action", .duration, \.deadlines.action),
        .init("connected", .duration, \.deadlines.connected),
        .init("claim", .duration, \.deadlines.claim),
        .init("dial", .duration, \.deadlines.dial),
        .init("ringer", .word, \.ringer),
        .init("fallback", .word, \.fallback),
        .init("unrecorded", .word, \.unrecorded),
        .init("when_busy", .word, \.whenBusy),
        .init("others", .word, \.others),
        .init("when_cellular", .word, \.whenCellular),
        .init("self_answer", .boolean, \.maySelfAnswer),
        .init("auto_answer", .duration, \.autoAnswer, standard: "not at all"),
        .init("auto_answer_list", .name, \.autoAnswerList, standard: "every caller"),
    ]
}

extension StrikeLimit {
    /// `[strikes]` in ringwaked.toml and in an app's file.
    static let keys: [Setting<StrikeLimit>] = [
        .init("limit", .number(of: "strikes", 0...60), \.count),
        .init("window", .duration, \.window),
    ]
}

extension RingSettings {
    fileprivate func check(_ reader: TOMLReader) throws(RingwakeError) {
        guard ringtone == nil, command?.contains(where: { $0.contains(Self.filePlaceholder) }) == true else { return }
        throw reader.missing("ringtone")
    }
}

extension Configuration.Team {
    func check(_ reader: TOMLReader) throws(RingwakeError) {
        if webhook != nil {
            guard webhookSecretFile == nil else { return }
            throw reader.missing("webhook_secret")
        }
        for (key, file) in [("webhook_secret", webhookSecretFile), ("webhook_ca", webhookCAFile)] where file != nil {
            throw reader.invalid(key, "goes with 'webhook'; add that, or remove this")
        }
    }
}

extension Configuration.Team.Key {
    fileprivate func check(_ reader: TOMLReader) throws(RingwakeError) {
        if file == nil, publicPEM == nil { throw reader.missing("file") }
        if file != nil, publicPEM != nil {
            throw reader.invalid("public", "cannot be combined with 'file'; remove one")
        }
    }
}

extension AudioSettings {
    fileprivate mutating func check(_ reader: TOMLReader) throws(RingwakeError) {
        if backend == .socket, socket == nil { throw reader.missing("socket") }
        if backend == nil, socket != nil { backend = .socket }
    }
}

extension RestrictionSettings {
    fileprivate mutating func check(_ reader: TOMLReader) throws(RingwakeError) {
        if rating != nil, allowedNumber != nil {
            throw reader.invalid("rating", "says the same as 'allowed_level'; remove one")
        }
        guard let emergency = EmergencyNumbers(emergencyNumbers) else {
            throw reader.invalid("emergency_numbers", "is a list of numbers of 2 to 15 digits each")
        }
        self.emergency = emergency
        do throws(RingwakeError) {
            dialling = try DiallingRules(countryCode: country, trunkPrefix: trunk)
        } catch {
            throw reader.invalid(country == nil ? "trunk" : "country", "is wrong: \(error.message)")
        }
    }
}
