import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake audio`
struct AudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audio",
        abstract: "Audio sessions: who is heard, and where sound goes.",
        discussion: """
            EXAMPLES:
              ringwake audio
              ringwake audio route
              ringwake audio route speaker
              ringwake audio sessions
              ringwake audio run --options duckOthers -- aplay message.wav

            The daemon activates the session of a call when its handler has fulfilled the
            answer, and puts back what that changed when the call ends or is held. Other
            programs get a session by 'ringwake audio run'.
            """,
        subcommands: [
            AudioStatusCommand.self, AudioRouteCommand.self, AudioSessionsCommand.self, AudioRunCommand.self,
        ],
        defaultSubcommand: AudioStatusCommand.self)
}

/// `ringwake audio status`, which `ringwake audio` alone is too
struct AudioStatusCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how the audio sessions stand, and the audio server.",
        discussion: """
            EXAMPLES:
              ringwake audio
              ringwake audio status --json | jq .state

            Connects to nothing: while no call and no session needs the audio server, the
            state is 'idle'. Any local user may ask; what devices are called is for the
            daemon's user and root.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let status: AudioStatusMessage = try control.client(in: context).get(RequestTarget("audio"))
        context.output.write(
            wantsJSON ? try JSONText.document(status) : AudioText.text(of: status, style: context.style))
        return .success
    }
}

/// `ringwake audio sessions`
struct AudioSessionsCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "List the audio sessions that are open.",
        discussion: """
            EXAMPLES:
              ringwake audio sessions
              ringwake audio sessions --json | jq '.sessions[] | select(.state == "active")'

            The call in focus is one of them, with the number 0.
            """)

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let list: AudioSessionListMessage = try control.client(in: context).get(RequestTarget("audio", "sessions"))
        context.output.write(
            wantsJSON ? try JSONText.document(list) : AudioText.text(of: list, style: context.style))
        return .success
    }
}
