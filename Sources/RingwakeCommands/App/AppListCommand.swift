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
        let list: AppListMessage = try control.client(in: context).get(RequestTarget("apps"))
        context.output.write(
            wantsJSON ? try JSONText.document(list) : AppText.text(of: list.apps, style: context.style))
        return .success
    }
}
