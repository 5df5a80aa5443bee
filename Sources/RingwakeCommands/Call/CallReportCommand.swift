import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call report`
struct CallReportCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Handler: the call is real. Do it before the report deadline.",
        discussion: """
            EXAMPLES:
              ringwake call report --caller sip:alice@example.com --name Alice --ring
              ringwake call report
              ringwake call report 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --video

            A reported call rings once it is confirmed: with --ring, else by 'ringwake
            call ring'. Both come back when it rings, which the daemon's journal has then.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("Who calls: a SIP URI, a number, any handle.", valueName: "uri"))
    var caller: String?

    @Option(help: ArgumentHelp("The caller's name to show.", valueName: "name"))
    var name: String?

    @Flag(help: "The call has video.")
    var video = false

    @Flag(help: "The call is confirmed: ring.")
    var ring = false

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let report = CallReport(
            caller: caller, callerName: name, video: video ? true : nil, ring: ring ? true : nil)
        return try options.post(.report, to: id, report, in: context)
    }
}

/// `ringwake call ring`
struct CallRingCommand: CallVerbCommand {
    static let verb = CallVerb.ring
    static let configuration = CommandConfiguration(
        commandName: "ring",
        abstract: "Handler: the reported call is confirmed and rings.",
        discussion: """
            EXAMPLES:
              ringwake call ring
              ringwake call ring 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions
}

/// `ringwake call ended`
struct CallEndedCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ended",
        abstract: "Handler: the other side ended the call.",
        discussion: """
            EXAMPLES:
              ringwake call ended
              ringwake call ended --reason answeredElsewhere
            """)

    /// The reasons that a handler can give.
    enum Reason: String, ExpressibleByArgument, CaseIterable {
        case failed
        case remoteEnded
        case unanswered
        case answeredElsewhere
        case declinedElsewhere
    }

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @Option(help: "Why it ended (default: remoteEnded).")
    var reason: Reason?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.ended, to: id, CallEnding(reason: reason?.rawValue), in: context)
    }
}
