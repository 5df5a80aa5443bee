import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app remove`
struct AppRemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove an app; from now on pushes to its tokens get 410 Unregistered.",
        examples: """
            ringwake app remove com.example.phone
            """,
        details: """
            Removes the app's file from the daemon's folder of apps and unregisters its
            tokens for ever: if you add the app again, it gets new tokens.
            """)

    @Argument(help: .of("id", "The app's bundle id."), completion: .apps)
    var id: AppID

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        let file = AppFile.of(id, in: status.appsDirectory)
        // Remove the file first, or the next reload would register the app again with new tokens.
        let app: AppMessage = try file.change(to: nil) { () throws(RingwakeError) in
            try client.delete(RequestTarget("apps", id.rawValue))
        }
        return try show(
            app, "removed \(id); from now on pushes to its tokens get 410 Unregistered\n", in: context)
    }
}
