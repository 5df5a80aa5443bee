import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app remove`
struct AppRemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove an app; pushes to its tokens are answered 410 Unregistered from now on.",
        examples: """
            ringwake app remove com.example.phone
            """,
        details: """
            Removes its file from the daemon's folder of apps and unregisters its tokens.
            They never come back: the app gets new ones when it is added again.
            """)

    @Argument(help: .of("id", "The app's bundle id."))
    var id: AppID

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        let file = AppFile(app: id, directory: status.appsDirectory)
        // First the file: else the next reload would bring the app back with new tokens.
        let app: AppMessage = try file.change(to: nil) { () throws(RingwakeError) in
            try client.delete(RequestTarget("apps", id.rawValue))
        }
        return try show(
            app, "removed \(id); pushes to its tokens are answered 410 Unregistered from now on\n", in: context)
    }
}
