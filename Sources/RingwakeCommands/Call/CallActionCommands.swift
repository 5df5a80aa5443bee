import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `[ID] ACTION`: the call may be left out where `$RINGWAKE_CALL` names it.
struct CallActionArguments: ParsableArguments {
    /// Every action, as a sentence names them.
    static let names = CallAction.allCases.map(\.rawValue).joined(separator: ", ")

    @Argument(
        help: ArgumentHelp(
            "The call's id (default: $RINGWAKE_CALL), then the action: \(names).", valueName: "id> <action"))
    var words: [String] = []

    func validate() throws {
        guard (1...2).contains(words.count), action != nil else {
            throw ValidationError(
                "Give the action, one of \(CallActionArguments.names), after the call's id if there is one.")
        }
    }

    /// The action that the handler was asked for, as in the event `action`.
    var action: CallAction? { words.last.flatMap(CallAction.init(rawValue:)) }

    var call: String? { words.count == 2 ? words[0] : nil }

    func post(_ verb: CallVerb, _ options: CallOptions, in context: CommandContext) throws(RingwakeError) -> ExitStatus
    {
        let result = action.map { ActionResult(action: $0.rawValue) }
        return try options.post(verb, to: call, result, in: context)
    }
}

/// `ringwake call fulfill`
struct CallFulfillCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fulfill",
        abstract: "Handler: the action that was asked for is done.",
        usage: "ringwake call fulfill [<id>] <action> [options]",
        discussion: """
            EXAMPLES:
              ringwake call fulfill answer
              ringwake call fulfill 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 end
              ringwake call fulfill 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 hold
            """)

    @OptionGroup var arguments: CallActionArguments
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try arguments.post(.fulfill, options, in: context)
    }
}

/// `ringwake call fail`
struct CallFailCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fail",
        abstract: "Handler: the action that was asked for cannot be done.",
        usage: "ringwake call fail [<id>] <action> [options]",
        discussion: """
            EXAMPLES:
              ringwake call fail answer
              ringwake call fail 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 hold

            A call whose answer or end fails ends. When another action fails, the call goes
            on as it was.
            """)

    @OptionGroup var arguments: CallActionArguments
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try arguments.post(.fail, options, in: context)
    }
}

/// `ringwake call claim`
struct CallClaimCommand: CallVerbCommand {
    static let verb = CallVerb.claim
    static let configuration = CommandConfiguration(
        commandName: "claim",
        abstract: "Handler: take over a call that has lost its handler.",
        discussion: """
            EXAMPLES:
              ringwake call claim
              ringwake call claim 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11

            A handler that is started with the kind "claim" has a few seconds for it, else
            the call ends. What the lost handler owed is asked for anew.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions
}
