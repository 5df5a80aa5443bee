import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call list`
struct CallListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the calls that run, then the call log, each the newest first.",
        discussion: """
            EXAMPLES:
              ringwake call list
              ringwake call list --missed --limit 10
              ringwake call list --app com.example.phone --json | jq '.calls[0].reason'

            The daemon's journal keeps the log over restarts. A missed call is one that
            nobody answered or declined, on this device or another. --limit counts the
            log only; with --before the calls that run are left out.
            """)

    @Flag(help: "Only missed calls.")
    var missed = false

    @OptionGroup var list: ListOptions
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "calls",
            query: [("app", options.appFilter(in: context)), ("missed", missed ? "true" : nil)] + list.query)
        let calls: CallListMessage = try options.control.client(in: context).get(target)
        context.output.write(
            wantsJSON ? try JSONText.document(calls) : CallText.text(of: calls, style: context.style))
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
            how long it took after the stage before, and the time of day in UTC.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = RequestTarget(
            "calls", try options.call(id, in: context), query: [("app", options.appFilter(in: context))])
        let call: CallMessage = try options.control.client(in: context).get(target)
        context.output.write(wantsJSON ? try JSONText.document(call) : CallText.text(of: call, style: context.style))
        return .success
    }
}
