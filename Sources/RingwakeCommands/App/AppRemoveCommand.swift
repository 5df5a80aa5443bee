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
    var id: AppIDArgument

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(ControlTarget(["status"]))
        let file = AppFile(app: id.app, directory: status.appsDirectory)
        // First the file: else the next reload would bring the app back with new tokens.
        let previous = try file.contents()
        if previous != nil {
            try file.put(nil)
        }
        let app: AppMessage
        do throws(RingwakeError) {
            app = try client.delete(ControlTarget(["apps", id.app.rawValue]))
        } catch {
            throw undo(file, previous, after: error)
        }
        return try show(
            app, "removed \(id.app); pushes to its tokens are answered 410 Unregistered from now on\n", in: context)
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
