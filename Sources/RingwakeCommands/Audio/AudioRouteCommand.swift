import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake audio route`
struct AudioRouteCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route",
        abstract: "Show where sound goes and comes from, or choose the output of calls.",
        discussion: """
            EXAMPLES:
              ringwake audio route
              ringwake audio route speaker
              ringwake audio route bluez_output.00_11_22_33_44_55.1
              ringwake audio route auto
              ringwake audio route --json | jq -r '.route.outputs[].device'

            Has the audio server connected to, which changes nothing of it. With a name, the
            output of calls and recordings is that device while one goes on, and when the
            next one comes, and the route with it is shown; 'auto' leaves it to the daemon
            again. Exit status 2 when there is no such output, 8 when no audio server can be
            had.
            """)

    @Argument(
        help: ArgumentHelp(
            "speaker, receiver, headset, bluetooth, auto, another kind of port, or the audio server's name of a device.",
            valueName: "output"),
        completion: .list(AudioOutputName.words))
    var name: String?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        guard let name, name != AudioOutputName.automatic else { return }
        guard (1...AudioSessionConfiguration.maximumNameBytes).contains(name.utf8.count) else {
            throw ValidationError("A name has 1 to \(AudioSessionConfiguration.maximumNameBytes) bytes.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget("audio", "route")
        let client = control.client(in: context)
        let status: AudioStatusMessage
        if let name {
            status = try client.post(target, AudioRouteChoice(output: AudioOutputName.output(name)))
        } else {
            status = try client.get(target)
        }
        context.output.write(
            wantsJSON ? try JSONText.document(status) : AudioText.route(of: status, style: context.style))
        return status.state == "connected" || status.state == "off" ? .success : .unreachable
    }
}

/// The outputs that have a short name on the command line.
enum AudioOutputName {
    static let automatic = "auto"

    private static let short: [(word: String, kind: AudioPort.Kind)] = [
        ("speaker", .builtInSpeaker), ("receiver", .builtInReceiver), ("headset", .headset),
        ("bluetooth", .bluetoothHFP),
    ]

    /// What completion offers.
    static let words = short.map(\.word) + [automatic]

    /// What the daemon is told; nil for `auto`.
    static func output(_ name: String) -> String? {
        if name == automatic { return nil }
        return short.first { $0.word == name }?.kind.rawValue ?? name
    }
}
