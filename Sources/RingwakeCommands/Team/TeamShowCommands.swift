import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake team list`
struct TeamListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "list", "List the teams that may send pushes.",
        examples: """
            ringwake team list
            ringwake team list --json | jq -r '.teams[].id'
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let teams = try Teams(control, in: context)
        let message = TeamListMessage(
            teams: teams.configuration.teams, setAside: teams.wrong, webhooks: teams.webhooks,
            isDevice: teams.configuration.role == "device")
        return try show(message, TeamText.text(of: message, style: context.style), in: context)
    }
}

/// `ringwake team show`
struct TeamShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a team: its topics, its keys, and the apps that it may send to.",
        examples: """
            ringwake team show TEAM123456
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let teams = try Teams(control, in: context)
        let message = TeamMessage(try teams.team(id), in: teams)
        return try show(message, TeamText.text(of: message, style: context.style), in: context)
    }
}

/// `ringwake team remove`
struct TeamRemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove a team; from now on its pushes are refused.",
        examples: """
            ringwake team remove TEAM123456
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var teams = try Teams(control, in: context)
        let team: ConfigurationMessage.Team
        if let wrong = teams.wrong.first(where: { $0.team == id }) {
            // It may still send, as the file said before, so it can be removed like others.
            team = .init(id: id, file: wrong.file, topics: [], keys: [])
        } else {
            team = try teams.team(id)
        }
        let message = TeamMessage(team, in: teams.configuration)
        let configuration = try teams.change(try teams.file(of: team), to: nil)
        try TeamWebhookFile(of: id, in: configuration).remove()
        let orphans = message.apps.filter { app in !configuration.teams.contains { $0.maySend(to: app + ".voip") } }
        var text = "removed \(id); from now on its pushes are refused\n"
        if !orphans.isEmpty {
            text += "no team may send to \(orphans.joined(separator: ", ")) now\n"
        }
        return try show(message, text, in: context)
    }
}

/// `ringwake team key retire`
struct TeamKeyRetireCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "retire", "Refuse the provider tokens of a key from now on.",
        examples: """
            ringwake team key retire TEAM123456 ABC123DEFG
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @Argument(help: .of("key", "The key's id."))
    var key: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var teams = try Teams(control, in: context)
        let team = try teams.team(id)
        var new = TeamFile(team)
        guard let index = new.keys.firstIndex(where: { $0.id == key }) else {
            let known = new.keys.map(\.id).joined(separator: ", ")
            throw RingwakeError(
                .notFound,
                "the team '\(id)' has no key '\(key)'; " + (known.isEmpty ? "it has none" : "it has: \(known)"))
        }
        new.keys.remove(at: index)
        let configuration = try teams.change(try teams.file(of: team), to: new)
        let message = TeamMessage(try teams.team(id), in: configuration)
        var text = "retired \(key); its tokens are refused\n"
        if new.keys.isEmpty { text += "the team has no key now; only its provider certificates are accepted\n" }
        return try show(message, text, in: context)
    }
}
