import ControlProtocol

/// One team, as `--json` prints it.
struct TeamMessage: Encodable {
    var schema = ControlAPI.schema
    let team: ConfigurationMessage.Team
    /// Bundle IDs of the apps that it may send to.
    let apps: [String]

    init(_ team: ConfigurationMessage.Team, in configuration: ConfigurationMessage) {
        self.team = team
        apps = configuration.apps.filter { team.maySend(to: $0 + ".voip") }
    }
}

/// All teams, as `--json` prints them.
struct TeamListMessage: Encodable {
    var schema = ControlAPI.schema
    let teams: [ConfigurationMessage.Team]
    /// The files of teams that are wrong.
    let setAside: [SetAsideMessage]
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
        add("apps", message.apps, "none of this device's")
        add("file", [message.team.file], "")
        return ([style.bold(TerminalText.printable(message.team.id))] + table.lines(indent: 2)).joined(separator: "\n")
            + "\n"
    }

    static func text(of message: TeamListMessage, style: TextStyle) -> String {
        let wrong = SetAsideText.lines(message.setAside).map { style.bad(TerminalText.printable($0)) + "\n" }.joined()
        let teams = message.teams
        guard !teams.isEmpty else {
            return wrong.isEmpty ? "no teams, so every push is refused; add one with 'ringwake team add'\n" : wrong
        }
        var table = TextTable([.left, .left, .left])
        table.add(["team", "keys", "topics"])
        for team in teams {
            let keys = team.keys.count == 1 ? "1 key" : "\(team.keys.count) keys"
            let topics = team.topics.map { $0.isEmpty ? "no topic" : $0.joined(separator: ", ") } ?? "every topic"
            table.add([team.id, keys, topics])
        }
        return table.list(style: style) + wrong
    }
}
