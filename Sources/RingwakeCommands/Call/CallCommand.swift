import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call`
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Show, answer, hold and end calls; report them from a handler.",
        discussion: """
            EXAMPLES:
              ringwake call list
              ringwake call list --missed
              ringwake call show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call answer 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call hold 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call dtmf 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 1234#

              In a handler that a push woke ($RINGWAKE_CALL names the call):
              ringwake call report --caller sip:alice@example.com --ring
              ringwake call fulfill answer
              ringwake call ended --reason remoteEnded
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "User",
                subcommands: [
                    CallListCommand.self, CallShowCommand.self, CallAnswerCommand.self, CallDeclineCommand.self,
                    CallEndCommand.self, CallHoldCommand.self, CallUnholdCommand.self, CallMuteCommand.self,
                    CallUnmuteCommand.self, CallDTMFCommand.self,
                ]),
            CommandGroup(
                name: "Handler",
                subcommands: [
                    CallReportCommand.self, CallRingCommand.self, CallFulfillCommand.self, CallFailCommand.self,
                    CallEndedCommand.self, CallClaimCommand.self,
                ]),
        ])
}

/// Which call a command speaks of, and how its answer is shown.
struct CallOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The call's app, should two apps have a call of this id.", valueName: "id"))
    var app: String?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    /// The call to speak of: `id`, else the one that this handler was woken for.
    func call(_ id: String?, in context: CommandContext) throws(RingwakeError) -> String {
        guard let call = id ?? context.environment("RINGWAKE_CALL") else {
            throw RingwakeError(
                .invalidRequest,
                "which call? give its id ('ringwake call list' shows them); only a woken handler has $RINGWAKE_CALL")
        }
        return call
    }

    /// Its app, where one is known.
    func appFilter(in context: CommandContext) -> String? { app ?? context.environment("RINGWAKE_APP") }

    /// Says `verb` to the call `id` and shows how the call stands then.
    func post(
        _ verb: CallVerb, to id: String?, _ body: (some Encodable)?, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "calls", try call(id, in: context), verb.rawValue, query: [("app", appFilter(in: context))])
        let call: CallMessage = try control.client(in: context).post(target, body)
        context.output.write(
            output.json
                ? try JSONText.document(call)
                : TerminalText.printable(CallText.summary(of: call)) + "\n")
        return .success
    }

    /// The same without a body.
    func post(_ verb: CallVerb, to id: String?, in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try post(verb, to: id, nil as ActionResult?, in: context)
    }
}
