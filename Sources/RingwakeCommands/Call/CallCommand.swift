import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call`
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "call", "Show, answer, hold and end calls; report them from a handler.",
        examples: """
            ringwake call list
            ringwake call list --missed
            ringwake call show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            ringwake call answer 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            ringwake call hold 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            ringwake call dtmf 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 1234#
            """,
        details: """
              In a handler that a push woke ($RINGWAKE_CALL names the call):
              ringwake call report --caller sip:alice@example.com --ring
              ringwake call fulfill answer
              ringwake call ended --reason remoteEnded
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "User",
                subcommands: [
                    CallListCommand.self, CallShowCommand.self, OtherCallsCommand<AnswerVerb>.self,
                    CallVerbCommand<DeclineVerb>.self,
                    CallVerbCommand<EndVerb>.self, CallVerbCommand<HoldVerb>.self, OtherCallsCommand<UnholdVerb>.self,
                    CallVerbCommand<MuteVerb>.self,
                    CallVerbCommand<UnmuteVerb>.self, CallDTMFCommand.self,
                ]),
            CommandGroup(
                name: "Handler",
                subcommands: [
                    CallReportCommand.self, CallVerbCommand<RingVerb>.self, CallActionCommand<FulfillVerb>.self,
                    CallActionCommand<FailVerb>.self,
                    CallEndedCommand.self, CallVerbCommand<ClaimVerb>.self,
                ]),
        ])
}

/// Options that select a call's app and the form of the output.
struct CallOptions: ParsableArguments {
    @Option(help: .of("id", "The call's app, if two apps have a call with this id."))
    var app: String?

    @OptionGroup var control: ControlOptions

    /// The id of the call: `id`, else that of the call that this handler was woken for.
    func call(_ id: String?, in context: CommandContext) throws(RingwakeError) -> String {
        guard let call = id ?? context.environment("RINGWAKE_CALL") else {
            throw RingwakeError(
                .invalidRequest,
                "no call: give its id ('ringwake call list' shows it); only a woken handler has $RINGWAKE_CALL")
        }
        return call
    }

    /// The call's app, if known.
    func appFilter(in context: CommandContext) -> String? { app ?? context.environment("RINGWAKE_APP") }
}

/// A command that is about calls.
protocol CallSubcommand: DaemonCommand {
    var options: CallOptions { get }
}

extension CallSubcommand {
    var control: ControlOptions { options.control }

    /// Sends the request `verb` for the call `id` and shows the call's state afterwards.
    func post(
        _ verb: CallVerb, to id: String?, _ body: (some Encodable)?, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "calls", try options.call(id, in: context), verb.rawValue,
            query: [("app", options.appFilter(in: context))])
        let call: CallMessage = try control.client(in: context).post(target, body)
        return try show(call, TerminalText.printable(CallText.summary(of: call)) + "\n", in: context)
    }
}
