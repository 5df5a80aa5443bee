import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake team add`
struct TeamAddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "add", "Add a team that may send pushes.",
        examples: """
            ringwake team add TEAM123456 --app com.example.phone --key AuthKey_ABC.p8
            ringwake team add TEAM123456 --topic com.example.phone.voip
            ringwake team add TEAM123456 --all-topics --key public.pem --key-id ABC123DEFG
            ringwake team add TEAM123456 --app com.example.door --replace
            ringwake team add TEAM123456 --all-topics --webhook https://pbx.example/r
            """,
        details: """
            Writes ID.toml to the daemon's folder of teams and makes the daemon read it. If
            the daemon refuses the file, nothing changes. The team sends with the key, or
            with a provider certificate whose OU is its id, of a CA in provider_cas. Of a
            P8 only the public half is stored: this device cannot sign for the team.
            --replace replaces the topics and keeps the rest. With --outcome the answer to
            an accepted push has {"outcome":"started"}, or why no handler was started. To
            --webhook the daemon posts what becomes of each push; see
            'ringwake team webhook set --help'.
            """)

    @Argument(help: .of("id", "The team's id: 10 letters and digits at Apple."))
    var id: String

    @Option(help: .of("id", "An app that it may send to; may be repeated."))
    var app: [AppID] = []

    @Option(help: .of("topic", "A topic that it may send to; may be repeated."))
    var topic: [String] = []

    @Flag(help: "Let it send to every topic.")
    var allTopics = false

    @Option(help: .of("file", "A key that signs its provider tokens: a P8, or its public half."))
    var key: String?

    @Option(help: .of("id", "The key's id (default: from a file name like AuthKey_ID.p8)."))
    var keyID: String?

    @Flag(help: "Answer its accepted pushes with their outcome.")
    var outcome = false

    @Option(help: .of("url", "Post what becomes of its pushes there."))
    var webhook: String?

    @Option(help: .of("file", "CA certificates to trust as the webhook's, in PEM (default: the system's)."))
    var webhookCa: String?

    @Flag(help: "Replace the topics of an existing team.")
    var replace = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(
            !app.isEmpty || !topic.isEmpty || allTopics,
            "Give --app or --topic for what it may send to, or --all-topics.")
        try require(!allTopics || (app.isEmpty && topic.isEmpty), "Give --all-topics alone, without --app and --topic.")
        try require(key != nil || keyID == nil, "--key-id goes with --key.")
        try require(webhook != nil || webhookCa == nil, "--webhook-ca goes with --webhook.")
        try require(TeamFile.isID(id), "'\(id)' is not a team id; give letters, digits, '-' and '_', at most 64.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let added = try key.map { file throws(RingwakeError) in try TeamFile.key(of: file, id: keyID) }
        var teams = try Teams(control, in: context)
        let topics = allTopics ? nil : Array(Set(app.map { Topic.voip(of: $0).rawValue } + topic)).sorted()
        var new = TeamFile(id: id, topics: topics, getsOutcome: outcome)
        var file = ConfiguredFile(path: TeamFile.path(of: id, in: teams.configuration.teamsDirectory))
        if let wrong = teams.wrong.first(where: { $0.team == id }) {
            guard replace else {
                throw RingwakeError(
                    .conflict,
                    "the team '\(id)' already exists, and its file is wrong: \(wrong.why); correct it, or use --replace, "
                        + "which writes it anew without the keys that it has")
            }
            file = try teams.file(of: .init(id: id, file: wrong.file, topics: [], keys: []))
        } else if let present = teams.configuration.teams.first(where: { $0.id == id }) {
            guard replace else {
                let topics = Set((present.topics ?? []) + (topics ?? [])).sorted()
                let all =
                    present.topics == nil || self.allTopics
                    ? "--all-topics" : topics.map { "--topic \($0)" }.joined(separator: " ")
                throw RingwakeError(
                    .conflict,
                    "the team '\(id)' already exists, in '\(present.file)'. --replace replaces all of its topics; to keep "
                        + "those that it has, run 'ringwake team add \(id) \(all) --replace'")
            }
            file = try teams.file(of: present)
            new.keys = TeamFile(present).keys
            new.getsOutcome = outcome || present.outcome == true
            new.webhook = present.webhook
        }
        if let added { try new.add(added) }
        var secret: String?
        if let webhook {
            secret = try teams.change(file, to: &new, webhook: webhook, caFile: webhookCa, renewsSecret: false)
        } else {
            try teams.change(file, to: new)
        }
        var message = TeamMessage(try teams.team(id), in: teams)
        message.webhookSecret = secret
        return try show(
            message,
            TeamText.text(of: message, style: context.style) + teams.outcome + "\n"
                + (added.map { TeamFile.note(onKeyID: $0.id) } ?? ""),
            in: context)
    }
}

/// `ringwake team key add`
struct TeamKeyAddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "add", "Accept provider tokens of another key, for example of its successor.",
        examples: """
            ringwake team key add TEAM123456 AuthKey_XYZ987WVUT.p8
            ringwake team key add TEAM123456 public.pem --key-id XYZ987WVUT
            """,
        details: """
            Stores the public half only. The keys that the team has stay valid until you
            retire them.
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @Argument(help: .of("file", "The key: a P8, or its public half."), completion: .file())
    var file: String

    @Option(help: .of("id", "The key's id (default: from a file name like AuthKey_ID.p8)."))
    var keyID: String?

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let key = try TeamFile.key(of: file, id: keyID)
        var teams = try Teams(control, in: context)
        let team = try teams.team(id)
        var new = TeamFile(team)
        try new.add(key)
        let configuration = try teams.change(try teams.file(of: team), to: new)
        let message = TeamMessage(try teams.team(id), in: configuration)
        return try show(
            message,
            TeamText.text(of: message, style: context.style) + teams.outcome + "\n" + TeamFile.note(onKeyID: key.id),
            in: context)
    }
}
