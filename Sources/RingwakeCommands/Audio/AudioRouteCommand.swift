import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake audio route`
struct AudioRouteCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "route", "Show the audio route, or choose the output of calls.",
        examples: """
            ringwake audio route
            ringwake audio route speaker
            ringwake audio route bluez_output.00_11_22_33_44_55.1
            ringwake audio route auto
            ringwake audio route --json | jq -r '.route.outputs[].device'
            """,
        details: """
            Connects to the audio server without changing anything. With a name, selects
            that device as the output of this and later calls and recordings, and shows
            the new route; 'auto' lets the daemon choose again. The exit status is 2 if
            there is no such output, and 8 if no audio server can be reached.
            """)

    @Argument(
        help: .of(
            "output",
            "speaker, receiver, headset, bluetooth, auto, another kind of port, or the audio server's name of a device."
        ),
        completion: .outputs)
    var name: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        guard let name, name != AudioOutputName.automatic else { return }
        try require(
            (1...AudioSessionConfiguration.maximumNameBytes).contains(name.utf8.count),
            "Give a name of 1 to \(AudioSessionConfiguration.maximumNameBytes) bytes.")
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
        return status.route != nil || status.state == "off" ? .success : .unreachable
    }
}

/// The outputs that have a short name on the command line.
enum AudioOutputName {
    static let automatic = "auto"

    private static let short: [(word: String, kind: AudioPort.Kind)] = [
        ("speaker", .builtInSpeaker), ("receiver", .builtInReceiver), ("headset", .headset),
        ("bluetooth", .bluetoothHFP),
    ]

    /// The words for shell completion.
    static let words = short.map(\.word) + [automatic]

    /// The output to request from the daemon; nil for `auto`.
    static func output(_ name: String) -> String? {
        if name == automatic { return nil }
        return short.first { $0.word == name }?.kind.rawValue ?? name
    }
}
