import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake app remove`
struct AppRemoveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an app; pushes to its tokens are answered 410 Unregistered from now on.",
        discussion: """
            EXAMPLES:
              ringwake app remove com.example.phone

            Removes its file from the daemon's folder of apps and unregisters its tokens.
            They never come back: the app gets new ones when it is added again.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id.", valueName: "id"))
    var id: AppIDArgument

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        let file = AppFile(app: id.app, directory: status.appsDirectory)
        // First the file: else the next reload would bring the app back with new tokens.
        let previous = try file.contents()
        if previous != nil {
            try file.put(nil)
        }
        let app: AppMessage
        do throws(RingwakeError) {
            app = try client.delete(RequestTarget("apps", id.app.rawValue))
        } catch {
            throw undo(file, previous, after: error)
        }
        context.output.write(
            wantsJSON
                ? try JSONText.document(app)
                : "removed \(id.app); pushes to its tokens are answered 410 Unregistered from now on\n")
        return .success
    }

    private func undo(_ file: AppFile, _ previous: [UInt8]?, after error: RingwakeError) -> RingwakeError {
        guard let previous else { return error }
        do throws(RingwakeError) {
            try file.put(previous)
            return RingwakeError(error.code, "the app was not removed: \(error.message)")
        } catch let second {
            return RingwakeError(
                error.code,
                "\(error.message); '\(file.path)' is gone and could not be put back (\(second.message)): "
                    + "'ringwake app remove' again, or 'ringwake app add' it")
        }
    }
}
