import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call`
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "call", "Begin, show, answer, hold and end calls; report them from a handler.",
        examples: """
            ringwake call list
            ringwake call list --missed
            ringwake call answer
            ringwake call start sip:bob@example.com
            ringwake call show 7b0e
            ringwake call hold 7b0e
            ringwake call dtmf 1234#
            """,
        details: """
            The first 4 or more characters of a call's id are enough if only one call begins
            with them. Without an id, a command for users applies to the only call that
            fits: 'answer' and 'decline' to the one that rings, 'hold' to the connected one,
            'end' to the one in progress.

              In a handler that a push woke ($RINGWAKE_CALL names the call):
              ringwake call report --caller sip:alice@example.com --ring
              ringwake call fulfill answer
              ringwake call ended --reason remoteEnded
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "User",
                subcommands: [
                    CallListCommand.self, CallShowCommand.self, CallWaitCommand.self, CallStartCommand.self,
                    OtherCallsCommand<AnswerVerb>.self,
                    CallVerbCommand<DeclineVerb>.self,
                    CallVerbCommand<EndVerb>.self, CallVerbCommand<HoldVerb>.self, OtherCallsCommand<UnholdVerb>.self,
                    CallSwapCommand.self, CallMergeCommand.self,
                    CallVerbCommand<MuteVerb>.self,
                    CallVerbCommand<UnmuteVerb>.self, CallDTMFCommand.self,
                ]),
            CommandGroup(
                name: "Handler",
                subcommands: [
                    CallReportCommand.self, CallUpdateCommand.self, CallVerbCommand<RingVerb>.self,
                    CallVerbCommand<ConnectingVerb>.self,
                    CallVerbCommand<ConnectedVerb>.self, CallActionCommand<FulfillVerb>.self,
                    CallActionCommand<FailVerb>.self,
                    CallEndedCommand.self, CallVerbCommand<ClaimVerb>.self,
                ]),
        ])
}

/// Options that select a call's app and the form of the output.
struct CallOptions: ParsableArguments {
    @Option(
        help: .of("id", "The call's app, if two apps have a call with this id (default: $RINGWAKE_APP)."),
        completion: .apps)
    var app: String?

    @OptionGroup var control: ControlOptions

    /// The id of the call that a handler's command is about: `id`, else that of the call that it was woken for.
    func call(_ id: String?, in context: CommandContext) throws(RingwakeError) -> String {
        guard let call = id ?? context.environment("RINGWAKE_CALL") else {
            throw RingwakeError(
                .invalidRequest,
                "no call: give its id ('ringwake call list' shows it); only a woken handler has $RINGWAKE_CALL")
        }
        return call
    }

    /// Finds the call that a user's command is about.
    ///
    /// - Parameter verb: the command's name.
    func choice(
        _ verb: String, of fit: CallChoice.Fit, by client: ControlClient, in context: CommandContext
    ) -> CallChoice {
        CallChoice(client: client, app: appFilter(in: context), command: "ringwake call \(verb)", fit: fit)
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
    ///
    /// - Parameters:
    ///   - command: the command's name; nil: the verb's.
    ///   - refusal: why the command refuses the call as it is, although the daemon would not; nil: it needs no look.
    func post(
        _ verb: CallVerb, to id: String?, _ body: (some Encodable)?, command: String? = nil,
        refusing refusal: ((CallMessage) -> RingwakeError?)? = nil, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let act = { (reference: CallChoice.Reference) throws(RingwakeError) -> CallMessage in
            if let refusal {
                let current: CallMessage = try client.get(
                    RequestTarget("calls", reference.id, query: [("app", reference.app)]))
                if let refused = refusal(current) { throw refused }
            }
            let target = RequestTarget("calls", reference.id, verb.rawValue, query: [("app", reference.app)])
            return try client.post(target, body)
        }
        let call: CallMessage
        if verb.isHandlers {
            call = try act(
                CallChoice.Reference(id: try options.call(id, in: context), app: options.appFilter(in: context)))
        } else {
            let choice = options.choice(command ?? verb.rawValue, of: CallChoice.Fit(verb), by: client, in: context)
            call = try choice.use(id ?? context.environment("RINGWAKE_CALL"), act)
        }
        return try show(call, TerminalText.printable(CallText.summary(of: call)) + "\n", in: context)
    }
}
