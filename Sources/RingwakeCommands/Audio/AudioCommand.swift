import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake audio`
struct AudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "audio", "Show and control audio sessions and routing.",
        examples: """
            ringwake audio
            ringwake audio route
            ringwake audio route speaker
            ringwake audio sessions
            ringwake audio run --options duckOthers -- aplay message.wav
            """,
        details: """
            The daemon activates the session of a call when its handler has fulfilled the
            answer, and restores everything when the call ends or is held. Other
            programs get a session with 'ringwake audio run'.
            """,
        subcommands: [
            AudioStatusCommand.self, AudioRouteCommand.self, AudioSessionsCommand.self, AudioRunCommand.self,
        ],
        defaultSubcommand: AudioStatusCommand.self)
}

/// `ringwake audio status`, the default of `ringwake audio`
struct AudioStatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the state of the audio sessions and the audio server.",
        examples: """
            ringwake audio
            ringwake audio status --json | jq .state
            """,
        details: """
            Does not connect to the audio server: while no call and no session needs the
            server, its state is 'idle'. Any local user may ask; only the daemon's user and
            root see the names of devices.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        return try show(AudioStatusMessage.self, at: RequestTarget("audio"), AudioText.text, in: context)
    }
}

/// `ringwake audio sessions`
struct AudioSessionsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "sessions", "List the open audio sessions.",
        examples: """
            ringwake audio sessions
            ringwake audio sessions --json | jq '.sessions[] | select(.state=="active")'
            """,
        details: """
            The call in focus is one of them, with the number 0.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        return try show(
            AudioSessionListMessage.self, at: RequestTarget("audio", "sessions"), AudioText.text, in: context)
    }
}
