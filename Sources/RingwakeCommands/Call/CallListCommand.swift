import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call list`
struct CallListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the calls that run and the last that ended, the newest first.",
        discussion: """
            EXAMPLES:
              ringwake call list
              ringwake call list --app com.example.phone --json | jq '.calls[0].reason'
            """)

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = ControlTarget(["calls"], query: [("app", options.appFilter(in: context))])
        let list: CallListMessage = try options.control.client(in: context).get(target)
        context.output.write(
            wantsJSON ? try JSONText.document(list) : CallText.text(of: list.calls, style: context.style))
        return .success
    }
}

/// `ringwake call show`
struct CallShowCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a call and its timeline.",
        discussion: """
            EXAMPLES:
              ringwake call show 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call show --json 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 | jq .timeline

            The timeline says for each stage when it was reached after the push arrived,
            and how long it took after the stage before.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = ControlTarget(
            ["calls", try options.call(id, in: context)], query: [("app", options.appFilter(in: context))])
        let call: CallMessage = try options.control.client(in: context).get(target)
        context.output.write(wantsJSON ? try JSONText.document(call) : CallText.text(of: call, style: context.style))
        return .success
    }
}
