import ArgumentParser

/// `ringwake push`
struct PushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "push", "Send pushes by the APNs provider API; show the state of received ones.",
        usage: """
            ringwake push --app <id> | --token <hex> [options]
            ringwake push list [options]
            ringwake push show <push-id> [options]
            """,
        examples: """
            ringwake push --app com.example.phone --trace
            ringwake push --host push.example.net --token TOKEN --cert voip.p12
            ringwake push list --app com.example.phone --limit 10
            ringwake push show 7b0e
            """,
        details: """
            'ringwake push' alone is 'ringwake push send'; 'ringwake push send --help'
            shows all its options.
            """,
        subcommands: [PushSendCommand.self, PushListCommand.self, PushShowCommand.self],
        defaultSubcommand: PushSendCommand.self)
}
