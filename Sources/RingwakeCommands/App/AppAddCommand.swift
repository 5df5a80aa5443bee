import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore

/// `ringwake app add`
struct AppAddCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an app, and print the topic and the tokens that pushes reach it by.",
        discussion: """
            EXAMPLES:
              ringwake app add com.example.phone --exec /usr/bin/phone-handler
              ringwake app add com.example.phone --exec /usr/bin/phone-handler -- --account work
              ringwake app add com.example.phone --exec /usr/bin/phone-handler --payload flexisip
              ringwake app add com.example.phone --exec /opt/new-handler --replace
              ringwake app add com.example.phone --exec /usr/bin/phone-handler --way unit
              ringwake app add com.example.phone --unit phone@.service --manager user
              ringwake app add com.example.phone --dbus org.example.Phone
              ringwake app add com.example.phone --handler-socket /run/phone/handler.sock
              ringwake app add com.example.phone --connected --fallback ring --ringer daemon

            Writes ID.toml to the daemon's folder of apps and makes the daemon read it.
            When the daemon refuses it, everything stays as it was. Replacing an app keeps
            its tokens, but nothing of its file. Without --payload every push is a call of
            its own, from nobody known; ringwaked.toml(5) shows how to map other payloads,
            and what else the file may say.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id, such as com.example.phone.", valueName: "id"))
    var id: AppIDArgument

    @OptionGroup(title: "How it is woken") var wake: AppWakeOptions
    @OptionGroup(title: "Rules of its calls") var rules: AppRuleOptions

    @Option(
        help: ArgumentHelp(
            "Whose payloads it gets: \(PayloadMapping.presetNames.joined(separator: ", ")).", valueName: "preset"))
    var payload: PayloadPresetArgument?

    @Flag(help: "Replace the app that is there.")
    var replace = false

    @Flag(help: "Also when the program is not there or not executable.")
    var force = false

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try wake.checkProgram(isForced: force)
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        let file = AppFile(app: id.app, directory: status.appsDirectory)
        let previous = try file.contents()
        guard previous == nil || replace else {
            throw RingwakeError(
                .conflict, "the app '\(id.app)' is there already, in '\(file.path)'; --replace replaces it")
        }
        do throws(FileSystemError) {
            try FileSystem.createDirectory(status.appsDirectory, mode: 0o755)
        } catch {
            throw RingwakeError(error)
        }
        let text = AppFile.text(wake: wake.lines, rules: rules.lines, payload: payload?.name)
        try file.put(Array(text.utf8))
        do throws(RingwakeError) {
            let _: ReloadMessage = try client.post(RequestTarget("reload"))
        } catch {
            throw undo(file, previous, after: error)
        }
        let app: AppMessage = try client.get(RequestTarget("apps", id.app.rawValue))
        context.output.write(
            wantsJSON ? try JSONText.document(app) : AppText.text(of: app, style: context.style))
        return .success
    }

    /// Puts the file back as it was; the daemon kept its configuration.
    private func undo(_ file: AppFile, _ previous: [UInt8]?, after error: RingwakeError) -> RingwakeError {
        do throws(RingwakeError) {
            try file.put(previous)
            return RingwakeError(error.code, "the daemon refused the app, nothing was changed: \(error.message)")
        } catch let second {
            return RingwakeError(
                error.code,
                "the daemon refused the app: \(error.message); and '\(file.path)' could not be put back "
                    + "(\(second.message)): mend it by hand")
        }
    }
}

/// The name of a preset of payloads on the command line.
struct PayloadPresetArgument: ExpressibleByArgument, Equatable {
    let name: String

    init?(argument: String) {
        guard PayloadMapping.preset(argument) != nil else { return nil }
        name = argument
    }

    static var allValueStrings: [String] { PayloadMapping.presetNames }
}
