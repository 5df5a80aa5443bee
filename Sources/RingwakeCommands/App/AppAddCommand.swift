import ArgumentParser
import ControlProtocol
import FileSystem
import RingwakeCore
import VoIPCertificates

/// `ringwake app add`
struct AppAddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "add", "Add an app; print its topic and device tokens.",
        examples: """
            ringwake app add com.example.phone --exec /usr/bin/phone-handler
            ringwake app add com.example.phone --exec /opt/handler -- --account a
            ringwake app add com.example.phone --exec /opt/handler --payload flexisip
            ringwake app add com.example.phone --exec /opt/new-handler --replace
            ringwake app add com.example.phone --exec /usr/bin/phone-handler --way unit
            ringwake app add com.example.phone --unit phone@.service --manager user
            ringwake app add com.example.phone --dbus org.example.Phone
            ringwake app add com.example.phone --handler-socket /run/phone/handler.sock
            ringwake app add com.example.phone --connected --ringer daemon
            """,
        details: """
            Writes ID.toml to the daemon's folder of apps and makes the daemon read it.
            If the daemon refuses the file, nothing changes. Replacing an app keeps its
            tokens, but not its old file. Without --payload every push is a separate call
            from an unknown caller; ringwaked.toml(5) shows how to map other payloads, and
            the other settings of the file.
            """)

    @Argument(help: .of("id", "The app's bundle id, such as com.example.phone."))
    var id: AppID

    @OptionGroup(title: "How to wake the handler") var wake: AppWakeOptions
    @OptionGroup(title: "Rules for its calls") var rules: AppRuleOptions

    @Option(
        help: ArgumentHelp(
            "The format of its payloads: \(PayloadMapping.presetNames.joined(separator: ", ")).", valueName: "preset"))
    var payload: String?

    @Flag(help: "Replace an existing app.")
    var replace = false

    @Flag(help: "Accept a program that does not exist or is not executable.")
    var force = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        let names = PayloadMapping.presetNames
        try require(
            payload.map(names.contains) ?? true, "--payload is one of \(names.joined(separator: ", ")).")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try wake.checkProgram(isForced: force)
        let client = control.client(in: context)
        let status: StatusMessage = try client.get(RequestTarget("status"))
        let file = AppFile.of(id, in: status.appsDirectory)
        guard try file.contents() == nil || replace else {
            throw RingwakeError(
                .conflict, "the app '\(id)' already exists, in '\(file.path)'; use --replace to replace it")
        }
        try TrustedDirectory.require(status.appsDirectory)
        try withFiles { () throws(FileSystemError) in
            try FileSystem.createDirectory(status.appsDirectory, mode: 0o755)
        }
        let text = AppFile.text(wake: wake.lines, rules: rules.lines, payload: payload)
        do throws(RingwakeError) {
            try file.change(to: Array(text.utf8)) { () throws(RingwakeError) in
                let reload: ReloadMessage = try client.post(RequestTarget("reload"))
                try file.check(reload.setAside)
            }
        } catch {
            // The daemon has read the wrong file, and has to read what is there again. If that fails too, it says so
            // in its status.
            let _: ReloadMessage? = try? client.post(RequestTarget("reload"))
            throw error
        }
        let app: AppMessage = try client.get(RequestTarget("apps", id.rawValue))
        return try show(app, AppText.text(of: app, style: context.style) + note(status), in: context)
    }

    /// A line about a unit that the daemon may not start; empty for others.
    private func note(_ status: StatusMessage) -> String {
        guard wake.unit != nil, let program = try? DaemonProgram(),
            let configuration = try? program.configuration(status.configuration),
            let handler = configuration.handlers.first(where: { $0.app == id.rawValue }),
            let finding = HandlerUnitCheck.name(handler, user: FileLook.owner("/proc/\(status.pid)"))
        else { return "" }
        return TerminalText.printable("note: \(finding.message); \(finding.hint ?? "")") + "\n"
    }
}
