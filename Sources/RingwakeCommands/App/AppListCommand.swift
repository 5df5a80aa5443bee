import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app list`
struct AppListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the apps.",
        discussion: """
            EXAMPLES:
              ringwake app list
              ringwake app list --json | jq -r '.apps[].topic'
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let list: AppListMessage = try control.client(in: context).get(ControlTarget(["apps"]))
        context.output.write(
            wantsJSON ? try JSONText.document(list) : AppText.text(of: list.apps, style: context.style))
        return .success
    }
}

/// `ringwake app show`
struct AppShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an app: its topic, its tokens, and how it is woken.",
        discussion: """
            EXAMPLES:
              ringwake app show com.example.phone
              ringwake app show com.example.phone --json | jq -r .tokens.development
            """)

    @Argument(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var id: AppIDArgument

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let app: AppMessage = try control.client(in: context).get(ControlTarget(["apps", id.app.rawValue]))
        context.output.write(
            wantsJSON ? try JSONText.document(app) : AppText.text(of: app, style: context.style))
        return .success
    }
}
