import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app list`
struct AppListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "list", "List the apps.",
        examples: """
            ringwake app list
            ringwake app list --json | jq -r '.apps[].topic'
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let list: AppListMessage = try control.client(in: context).get(RequestTarget("apps"))
        return try show(list, AppText.text(of: list.apps, style: context.style), in: context)
    }
}
