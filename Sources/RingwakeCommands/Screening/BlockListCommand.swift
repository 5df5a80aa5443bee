import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake block list`
struct BlockListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the lists, or the entries of one.",
        discussion: """
            EXAMPLES:
              ringwake block list
              ringwake block list blocked
              ringwake block list spam --after +49900 --limit 100
              ringwake block list spam --all --json | jq -r '.entries[].pattern'

            With --json and --all, a document for each page.
            """)

    @Argument(help: ArgumentHelp("The list whose entries to show.", valueName: "name"))
    var name: CallerListNameArgument?

    @Option(help: ArgumentHelp("Entries behind this one only.", valueName: "pattern"))
    var after: String?

    @Option(help: ArgumentHelp("At most this many entries; 1 to \(ControlAPI.maximumListLimit).", valueName: "n"))
    var limit: Int?

    @Flag(help: "All entries, page by page.")
    var all = false

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        guard name != nil || (after == nil && limit == nil && !all) else {
            throw ValidationError("--after, --limit and --all belong to the entries of one list: name it.")
        }
        if let limit, !(1...ControlAPI.maximumListLimit).contains(limit) {
            throw ValidationError("--limit is between 1 and \(ControlAPI.maximumListLimit).")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        guard let name = name?.name else {
            let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
            context.output.write(
                wantsJSON ? try JSONText.document(lists) : CallerListText.text(of: lists, style: context.style))
            return .success
        }
        let size = limit ?? (all ? ControlAPI.maximumListLimit : ControlAPI.defaultListLimit)
        var position = after
        while context.output.isOpen {
            let page: CallerEntriesMessage = try client.get(
                RequestTarget("lists", name, query: [("after", position), ("limit", "\(size)")]))
            context.output.write(
                wantsJSON
                    ? try JSONText.document(page)
                    : CallerListText.text(of: page, goesOn: all, style: context.style))
            // A page that leads nowhere else must not be asked for again without end.
            guard all, let next = page.next, next != position else { break }
            position = next
        }
        return .success
    }
}

/// `ringwake block check`
struct BlockCheckCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say what lists and rules would do with a caller now.",
        discussion: """
            EXAMPLES:
              ringwake block check +49900123456
              ringwake block check sip:bob@spam.example
              ringwake block check anonymous --json | jq .rings
            """)

    @Argument(help: ArgumentHelp("A caller in any form: a number, a SIP or tel URI, a handle.", valueName: "caller"))
    var caller: String

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let check: CallerCheckMessage = try control.client(in: context).get(
            RequestTarget("lists", "check", query: [("caller", caller)]))
        context.output.write(
            wantsJSON ? try JSONText.document(check) : CallerListText.text(of: check, style: context.style))
        return .success
    }
}
