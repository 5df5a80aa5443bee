import ArgumentParser
import ControlProtocol
import RingwakeCore

/// A command that says one verb to one call, with nothing to add.
protocol CallVerbCommand: RunnableCommand {
    static var verb: CallVerb { get }
    var id: String? { get }
    var options: CallOptions { get }
}

extension CallVerbCommand {
    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(Self.verb, to: id, in: context)
    }
}

/// What becomes of the other calls that go on.
struct OtherCallsOptions: ParsableArguments {
    @Flag(help: "End the other calls that go on, rather than what the app's policy says.")
    var endOthers = false

    @Flag(help: "Hold the other calls that go on, rather than what the app's policy says.")
    var holdOthers = false

    func validate() throws {
        guard !endOthers || !holdOthers else {
            throw ValidationError("Give one of --end-others and --hold-others.")
        }
    }

    /// The body of the request; nil where the app's policy is to say.
    var body: CallAnswer? {
        endOthers
            ? CallAnswer(others: OtherCalls.end.rawValue)
            : holdOthers ? CallAnswer(others: OtherCalls.hold.rawValue) : nil
    }
}

/// `ringwake call answer`
struct CallAnswerCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer",
        abstract: "Take a ringing call.",
        discussion: """
            EXAMPLES:
              ringwake call answer 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call answer 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --end-others

            The call's handler is told to answer and has to say that it did; 'ringwake
            watch' shows it. Other calls that go on are held or ended first, as the app's
            policy says; when that cannot be done, the call rings on and the exit status
            is 1.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var others: OtherCallsOptions
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.answer, to: id, others.body, in: context)
    }
}

/// `ringwake call decline`
struct CallDeclineCommand: CallVerbCommand {
    static let verb = CallVerb.decline
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
}

/// `ringwake call end`
struct CallEndCommand: CallVerbCommand {
    static let verb = CallVerb.end
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
}
