import ArgumentParser
import ControlProtocol
import RingwakeCore

extension ArgumentHelp {
    /// For the id of a handler's command.
    static let handlersCall = ArgumentHelp.of("id", "The call's id (default: $RINGWAKE_CALL).")

    /// For the id of a user's command.
    static func usersCall(_ fit: CallChoice.Fit) -> ArgumentHelp {
        .of(
            "id",
            "The call's id, or its first \(ShortID<CallMessage>.minimumCharacters) or more characters (default: "
                + "$RINGWAKE_CALL, else the only call that is \(fit.adjective)).")
    }
}

// Commands that send one request about one call: a declaration for each verb, and a command for each form of
// arguments.

/// The verb and the help of a command.
protocol CallVerbDeclaration {
    static var verb: CallVerb { get }
    static var abstract: String { get }
    static var details: String { get }
}

extension CallVerbDeclaration {
    static var details: String { "" }

    /// The first example leaves out the call's id. A handler gives whole ids, a user the first characters.
    static func configuration(usage: String? = nil, _ words: [String] = [""]) -> CommandConfiguration {
        let command = "ringwake call \(verb.rawValue)"
        let id = verb.isHandlers ? "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11" : "7b0e"
        let examples = words.prefix(1).map { command + $0 } + words.map { "\(command) \(id)\($0)" }
        return CommandConfiguration(
            verb.rawValue, abstract, usage: usage, examples: examples.joined(separator: "\n"), details: details)
    }

    /// The help of the call's id.
    static var idHelp: ArgumentHelp { verb.isHandlers ? .handlersCall : .usersCall(CallChoice.Fit(verb)) }
}

/// `ringwake call VERB [ID]`
struct CallVerbCommand<Declaration: CallVerbDeclaration>: CallSubcommand {
    static var configuration: CommandConfiguration { Declaration.configuration() }

    @Argument(help: Declaration.idHelp, completion: .calls(Declaration.verb))
    var id: String?

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try post(Declaration.verb, to: id, nil as ActionResult?, in: context)
    }
}

enum RingVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.ring, "Handler: confirm the reported call, so that it rings.")
}

enum ConnectingVerb: CallVerbDeclaration {
    static let verb = CallVerb.connecting
    static let abstract = "Handler: report that the other side of an outgoing call is being reached."
}

enum ConnectedVerb: CallVerbDeclaration {
    static let (verb, abstract) = (
        CallVerb.connected, "Handler: report that the other side of an outgoing call answered."
    )
}

enum ClaimVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.claim, "Handler: take over a call that has lost its handler.")
    static let details = """
        A handler that is started with the kind "claim" has a few seconds to claim the
        call, or the call ends. The daemon sends the requests again that the lost
        handler did not answer.
        """
}

enum DeclineVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.decline, "Decline a ringing call.")
}

enum EndVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.end, "Hang up, in any state of the call.")
}

enum HoldVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.hold, "Hold a call.")
    static let details = """
        The call's handler has to report that it holds the call; until then 'ringwake
        call show' lists the request as pending.
        """
}

enum MuteVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.mute, "Turn the microphone of a call off.")
}

enum UnmuteVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.unmute, "Turn the microphone of a call on again.")
}

/// `ringwake call swap [ID]`
struct CallSwapCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "swap", "Resume a held call, and hold the other one.",
        examples: """
            ringwake call swap
            ringwake call swap 7b0e
            """,
        details: """
            The connected call is held first. If that fails, nothing changes. The id is that
            of the held call: one that is connected already is refused.
            """)

    @Argument(help: .usersCall(CallChoice.Fit(.unhold)), completion: .calls(.unhold))
    var id: String?

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        // The daemon resumes a connected call by doing nothing, and who asks for a swap would not find out.
        try post(
            .unhold, to: id, CallAnswer(others: OtherCalls.hold.rawValue), command: "swap",
            refusing: { call in
                guard call.state == CallStateMachine.State.Name.connected.rawValue else { return nil }
                return RingwakeError(
                    .conflict,
                    "the call '\(call.call)' is connected already; give the id of the held call, or none if only one is"
                )
            }, in: context)
    }
}

/// `ringwake call merge [ID [OTHER]]`
struct CallMergeCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "merge", "Merge two calls of an app, so that all hear each other.",
        examples: """
            ringwake call merge
            ringwake call merge 7b0e 91c4
            """,
        details: """
            The app's handler mixes the calls; until it has, 'ringwake call show' lists the
            request as pending. Calls that are merged are held, resumed and muted together,
            and end one by one. Both calls have one handler, which has to support it.
            """)

    @Argument(
        help: .of("id", "The call's id or its first characters (default: $RINGWAKE_CALL, else the only held call)."),
        completion: .calls(.merge))
    var id: String?

    @Argument(
        help: .of("other", "The other call (default: the connected one, or the only held one)."),
        completion: .calls(.merge))
    var other: String?

    @OptionGroup var options: CallOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let get = { (reference: CallChoice.Reference) throws(RingwakeError) -> CallMessage in
            try client.get(RequestTarget("calls", reference.id, query: [("app", reference.app)]))
        }
        let call = try options.choice("merge", of: CallChoice.Fit(.unhold), by: client, in: context)
            .use(id ?? context.environment("RINGWAKE_CALL"), get)
        let choice = CallChoice(
            client: client, app: call.app, command: "ringwake call merge \(call.call)", fit: .merging(with: call))
        let partner = if let other { try choice.use(other, get) } else { try choice.only() }
        return try post(.merge, to: call.call, CallMerge(with: partner.call), in: context)
    }
}

/// `ringwake call VERB [ID] [--end-others | --hold-others]`
struct OtherCallsCommand<Declaration: CallVerbDeclaration>: CallSubcommand {
    static var configuration: CommandConfiguration { Declaration.configuration(["", " --end-others"]) }

    @Argument(help: Declaration.idHelp, completion: .calls(Declaration.verb))
    var id: String?

    @Flag(help: "End the other active calls, whatever the app's policy is.")
    var endOthers = false

    @Flag(help: "Hold the other active calls, whatever the app's policy is.")
    var holdOthers = false

    @OptionGroup var options: CallOptions

    func validate() throws {
        try require(!endOthers || !holdOthers, "Give one of --end-others and --hold-others.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let others: OtherCalls? = endOthers ? .end : holdOthers ? .hold : nil
        return try post(
            Declaration.verb, to: id, others.map { CallAnswer(others: $0.rawValue) }, in: context)
    }
}

enum AnswerVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.answer, "Answer a ringing call.")
    static let details = """
        The call's handler has to report that it answered; 'ringwake watch' shows it.
        The daemon first holds or ends other active calls, as the app's policy says. If
        that fails, the call keeps ringing and the exit status is 1.
        """
}

enum UnholdVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.unhold, "Resume a held call.")
    static let details = "The daemon first holds or ends other active calls, as the app's policy says."
}

/// `ringwake call VERB [ID] ACTION`
struct CallActionCommand<Declaration: CallVerbDeclaration>: CallSubcommand {
    static var configuration: CommandConfiguration {
        let usage = "ringwake call \(Declaration.verb.rawValue) [<id>] <action> [options]"
        return Declaration.configuration(usage: usage, [" answer", " hold"])
    }

    private static var names: String { CallAction.allCases.map(\.rawValue).joined(separator: ", ") }

    @Argument(
        help: .of("id> <action", "The call's id (default: $RINGWAKE_CALL), then the action: \(names)."),
        completion: .list(CallAction.allCases.map(\.rawValue)))
    var words: [String] = []

    @OptionGroup var options: CallOptions

    private var action: CallAction? { words.last.flatMap(CallAction.init(rawValue:)) }

    func validate() throws {
        try require(
            (1...2).contains(words.count) && action != nil,
            "Give the action, one of \(Self.names), after the call's id if there is one.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let result = action.map { ActionResult(action: $0.rawValue) }
        return try post(Declaration.verb, to: words.count == 2 ? words[0] : nil, result, in: context)
    }
}

enum FulfillVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.fulfill, "Handler: report that the requested action succeeded.")
}

enum FailVerb: CallVerbDeclaration {
    static let (verb, abstract) = (CallVerb.fail, "Handler: report that the requested action failed.")
    static let details = """
        If 'answer', 'start' or 'end' fails, the call ends. If another action fails, the
        call continues unchanged.
        """
}

/// `ringwake call dtmf`
struct CallDTMFCommand: CallSubcommand {
    static let configuration = CommandConfiguration(
        "dtmf", "Play digits to the other side.", usage: "ringwake call dtmf [<id>] <digits> [options]",
        examples: """
            ringwake call dtmf 1234#
            ringwake call dtmf 7b0e 0,,42
            """,
        details: """
            Digits are 0-9, *, #, A-D, and a comma for a pause; at most \(PendingAction.maximumDigits) at a time.
            The call's handler plays them in the order of the requests.
            """)

    @Argument(
        help: .of(
            "id> <digits", "The call's id or its first characters (default: the connected call), then the digits."),
        completion: .calls(.dtmf))
    var words: [String] = []

    @OptionGroup var options: CallOptions

    func validate() throws {
        guard (1...2).contains(words.count), let digits = words.last else {
            throw ValidationError("Give the digits, after the call's id if there is one.")
        }
        try require(
            PendingAction.areDigits(digits),
            "'\(digits)' is not a list of digits: give 1 to \(PendingAction.maximumDigits) of 0-9, *, #, A-D and ','.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let call = words.count == 2 ? words[0] : nil
        return try post(.dtmf, to: call, words.last.map { CallDigits(digits: $0) }, in: context)
    }
}
