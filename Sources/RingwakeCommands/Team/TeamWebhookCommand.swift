import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake team webhook`
struct TeamWebhookCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "webhook", "Post what becomes of a team's pushes to its server.",
        examples: """
            ringwake team webhook set TEAM123456 https://example.org/receipts
            ringwake team webhook remove TEAM123456
            """,
        subcommands: [TeamWebhookSetCommand.self, TeamWebhookRemoveCommand.self])
}

/// `ringwake team webhook set`
struct TeamWebhookSetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "set", "Set the URL that the receipts of a team's pushes are posted to.",
        examples: """
            ringwake team webhook set TEAM123456 https://example.org/receipts
            ringwake team webhook set TEAM123456 https://10.0.0.5:8443/r --ca ca.pem
            ringwake team webhook set TEAM123456 https://pbx.example/r --new-secret
            """,
        details: """
            The requests are those of the Standard Webhooks specification. Give the secret
            that the command prints ('whsec_...') to the team: it checks the signatures
            with it. Nothing prints it again; it is in ID.webhook in the folder of teams.
            With --new-secret the requests are signed with the new secret and the former
            one, so that the team can change to it. The next --new-secret ends the former.
            The daemon connects to whatever the URL names, also inside your network.
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @Argument(help: .of("url", "The URL: https, or http on this machine itself."))
    var url: String

    @Option(help: .of("file", "CA certificates to trust as the server's, in PEM (default: the system's)."))
    var ca: String?

    @Flag(help: "Make a new secret beside the present one.")
    var newSecret = false

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var teams = try Teams(control, in: context)
        let team = try teams.team(id)
        var new = TeamFile(team)
        let secret = try teams.change(
            try teams.file(of: team), to: &new, webhook: url, caFile: ca, renewsSecret: newSecret)
        var message = TeamMessage(try teams.team(id), in: teams)
        message.webhookSecret = secret
        return try show(
            message, TeamText.text(of: message, style: context.style) + teams.outcome + "\n", in: context)
    }
}

/// `ringwake team webhook remove`
struct TeamWebhookRemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "remove", "Post no receipts of a team's pushes any more.",
        examples: """
            ringwake team webhook remove TEAM123456
            """)

    @Argument(help: .of("id", "The team's id."), completion: .teams)
    var id: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var teams = try Teams(control, in: context)
        let team = try teams.team(id)
        guard team.webhook != nil else {
            throw RingwakeError(.notFound, "the team '\(id)' has no webhook")
        }
        var new = TeamFile(team)
        new.webhook = nil
        let configuration = try teams.change(try teams.file(of: team), to: new)
        try TeamWebhookFile(of: id, in: configuration).remove()
        let message = TeamMessage(try teams.team(id), in: teams)
        return try show(message, "no receipts of \(id) are posted any more; its secret is removed\n", in: context)
    }
}
