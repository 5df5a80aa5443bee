import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call answer`
struct CallAnswerCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Take a ringing call.",
        discussion: """
            EXAMPLES:
              ringwake call answer 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11

            The call's handler is told to answer and has to say that it did; 'ringwake
            watch' shows it.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.answer, to: id, in: context)
    }
}

/// `ringwake call decline`
struct CallDeclineCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decline",
        abstract: "Refuse a ringing call.",
        discussion: """
            EXAMPLES:
              ringwake call decline 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.decline, to: id, in: context)
    }
}

/// `ringwake call end`
struct CallEndCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "Hang up, whatever the call's state.",
        discussion: """
            EXAMPLES:
              ringwake call end 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.end, to: id, in: context)
    }
}
