import ControlProtocol

/// One team, as `--json` prints it.
struct TeamMessage: Encodable {
    var schema = ControlAPI.schema
    let team: ConfigurationMessage.Team
    /// Bundle IDs of the apps that it may send to.
    let apps: [String]
    /// How its webhook does; nil if it has none, or no daemon runs.
    var webhook: WebhookStatusMessage?
    /// The new secret of its webhook, `whsec_…`: nothing shows it later.
    var webhookSecret: String?

    init(_ team: ConfigurationMessage.Team, in configuration: ConfigurationMessage) {
        self.team = team
        apps = configuration.apps.filter { team.maySend(to: $0 + ".voip") }
    }

    init(_ team: ConfigurationMessage.Team, in teams: Teams) {
        self.init(team, in: teams.configuration)
        webhook = teams.webhooks.first { $0.team == team.id }
    }
}

/// All teams, as `--json` prints them.
struct TeamListMessage: Encodable {
    var schema = ControlAPI.schema
    let teams: [ConfigurationMessage.Team]
    /// The files of teams that are wrong.
    let setAside: [SetAsideMessage]
    /// How the teams' webhooks do.
    let webhooks: [WebhookStatusMessage]
    /// Whether the daemon's role is `device`, so that teams of its own may not send.
    var isDevice = false

    private enum CodingKeys: String, CodingKey { case schema, teams, setAside, webhooks }
}

/// Formats teams for people.
enum TeamText {
    static func text(of message: TeamMessage, style: TextStyle) -> String {
        var table = TextTable([.left, .left])
        let add = { (label: String, texts: [String], none: String) in
            for (index, text) in (texts.isEmpty ? [none] : texts).enumerated() {
                table.add([index == 0 ? label : "", TerminalText.printable(text)])
            }
        }
        add("topics", message.team.topics ?? ["every topic"], "none")
        add("keys", message.team.keys.map { $0.id + ($0.file.map { " (\($0))" } ?? "") }, "none; certificates only")
        if message.team.outcome == true { add("answers", ["with the outcome"], "") }
        if let webhook = message.team.webhook {
            add("webhook", [webhook.url], "")
            if let status = message.webhook { add("", [text(of: status)], "") }
            add("signed by", [webhook.secretFile], "")
            if let secret = message.webhookSecret { add("secret", [secret], "") }
        }
        add("apps", message.apps, "none of this device's")
        add("file", [message.team.file], "")
        return ([style.bold(TerminalText.printable(message.team.id))] + table.lines(indent: 2)).joined(separator: "\n")
            + "\n"
    }

    /// How a webhook does.
    private static func text(of webhook: WebhookStatusMessage) -> String {
        "\(webhook.delivered) receipts delivered, \(webhook.waiting) waiting, \(webhook.dropped) dropped"
            + (webhook.problem.map { "; it fails: \($0)" } ?? "")
    }

    static func text(of message: TeamListMessage, style: TextStyle) -> String {
        let wrong = SetAsideText.lines(message.setAside).map { style.bad(TerminalText.printable($0)) + "\n" }.joined()
        let teams = message.teams
        guard !teams.isEmpty else {
            guard wrong.isEmpty else { return wrong }
            return message.isDevice
                ? "no teams: this device takes pushes from its gateway, whose teams may send\n"
                : "no teams, so every push is refused; add one with 'ringwake team add'\n"
        }
        var table = TextTable([.left, .left, .left])
        table.add(["team", "keys", "topics"])
        for team in teams {
            let keys = team.keys.count == 1 ? "1 key" : "\(team.keys.count) keys"
            let topics = team.topics.map { $0.isEmpty ? "no topic" : $0.joined(separator: ", ") } ?? "every topic"
            table.add([team.id, keys, topics])
        }
        let failing = message.webhooks.compactMap { webhook in
            webhook.problem.map { _ in
                style.bad(TerminalText.printable("the webhook of \(webhook.team)"))
                    + TerminalText.printable(": \(text(of: webhook))\n")
            }
        }
        return table.list(style: style) + wrong + failing.joined()
    }
}
