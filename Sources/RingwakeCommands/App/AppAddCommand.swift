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

            Writes ID.toml to the daemon's folder of apps and makes the daemon read it.
            When the daemon refuses it, everything stays as it was. Replacing an app keeps
            its tokens, but nothing of its file. Without --payload every push is a call of
            its own, from nobody known; ringwaked.toml(5) shows how to map other payloads.
            """)

    @Argument(help: ArgumentHelp("The app's bundle id, such as com.example.phone.", valueName: "id"))
    var id: AppIDArgument

    @Option(help: ArgumentHelp("The program that a push starts: an absolute path.", valueName: "path"))
    var exec: String

    @Option(
        name: .customLong("arg"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("An argument for the program; may be repeated.", valueName: "argument"))
    var arguments: [String] = []

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("More arguments for the program, after --.", valueName: "args"))
    var remaining: [String] = []

    @Option(
        help: ArgumentHelp("How many handlers run at a time: one for the app, or one for each call.", valueName: "of"))
    var instances = HandlerInstances.app

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
        try checkProgram()
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(ControlTarget(["status"]))
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
        let text = AppFile.text(
            exec: [exec] + arguments + remaining, instances: instances, payload: payload?.name)
        try file.put(Array(text.utf8))
        do throws(RingwakeError) {
            let _: ReloadMessage = try client.post(ControlTarget(["reload"]))
        } catch {
            throw undo(file, previous, after: error)
        }
        let app: AppMessage = try client.get(ControlTarget(["apps", id.app.rawValue]))
        context.output.write(
            wantsJSON ? try JSONText.document(app) : AppText.text(of: app, style: context.style))
        return .success
    }

    private func checkProgram() throws(RingwakeError) {
        guard exec.hasPrefix("/") else {
            throw RingwakeError(
                .invalidRequest,
                "'\(exec)' is no absolute path; the daemon has another working directory and searches no PATH: "
                    + "give the whole path")
        }
        guard !force else { return }
        guard FileSystem.exists(exec) else {
            throw RingwakeError(
                .notFound, "there is no program '\(exec)'; check the path, or add the app all the same with --force")
        }
        guard FileSystem.isExecutableFile(exec) else {
            throw RingwakeError(
                .invalidRequest,
                "'\(exec)' is not a file that may be executed; 'chmod +x' it, or add the app all the same with --force")
        }
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

extension HandlerInstances: ExpressibleByArgument {}

/// The name of a preset of payloads on the command line.
struct PayloadPresetArgument: ExpressibleByArgument, Equatable {
    let name: String

    init?(argument: String) {
        guard PayloadMapping.preset(argument) != nil else { return nil }
        name = argument
    }

    static var allValueStrings: [String] { PayloadMapping.presetNames }
}
