import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `[ID] ACTION`: the call may be left out where `$RINGWAKE_CALL` names it.
struct CallActionArguments: ParsableArguments {
    /// What a handler is asked to do, by ``EventMessage/action``.
    enum Action: String, CaseIterable {
        case answer
        case end
    }

    @Argument(
        help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL), then answer or end.", valueName: "id> <action"))
    var words: [String] = []

    func validate() throws {
        guard (1...2).contains(words.count), action != nil else {
            throw ValidationError("Give the action, 'answer' or 'end', after the call's id if there is one.")
        }
    }

    var action: Action? { words.last.flatMap(Action.init(rawValue:)) }

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
        abstract: "Handler: the action that was asked for cannot be done; the call ends.",
        usage: "ringwake call fail [<id>] <action> [options]",
        discussion: """
            EXAMPLES:
              ringwake call fail answer
              ringwake call fail 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 answer
            """)

    @OptionGroup var arguments: CallActionArguments
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try arguments.post(.fail, options, in: context)
    }
}
