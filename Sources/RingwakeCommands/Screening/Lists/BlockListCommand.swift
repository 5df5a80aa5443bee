import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake block list`
struct BlockListCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "list", "List the lists, or the entries of one.",
        examples: """
            ringwake block list
            ringwake block list blocked
            ringwake block list spam --after +49900 --limit 100
            ringwake block list spam --all --json | jq -r '.entries[].pattern'
            """,
        details: """
            With --json and --all, prints one document for each page.
            """)

    @Argument(help: .of("name", "The list whose entries to show."), completion: .lists)
    var name: CallerListNameArgument?

    @Option(help: .of("pattern", "List only entries after this one."))
    var after: String?

    @Option(help: .of("n", "List at most this many entries; 1 to \(ControlAPI.maximumListLimit)."))
    var limit: Int?

    @Flag(help: "List all entries, page by page.")
    var all = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(
            name != nil || (after == nil && limit == nil && !all),
            "--after, --limit and --all are for the entries of one list: name the list.")
        try require("--limit", limit, in: 1...ControlAPI.maximumListLimit)
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        guard let name = name?.name else {
            let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
            return try show(lists, CallerListText.text(of: lists, style: context.style), in: context)
        }
        let size = limit ?? (all ? ControlAPI.maximumListLimit : ControlAPI.defaultListLimit)
        var position = after
        while context.output.isOpen {
            let page: CallerEntriesMessage = try client.get(
                RequestTarget("lists", name, query: [("after", position), ("limit", "\(size)")]))
            context.output.write(
                wantsJSON
                    ? try JSONText.document(page)
                    : CallerListText.text(
                        of: page, isFirst: position == after, goesOn: all, style: context.style))
            // Stop if the next page is this one, or the loop would never end.
            guard all, let next = page.next, next != position else { break }
            position = next
        }
        return .success
    }
}

/// `ringwake block check`
struct BlockCheckCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "check", "Show what lists and rules would do with a caller now.",
        examples: """
            ringwake block check +49900123456
            ringwake block check sip:bob@spam.example
            ringwake block check anonymous --json | jq .rings
            """)

    @Argument(help: .of("caller", "A caller in any form: a number, a SIP or tel URI, a handle."))
    var caller: String

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        return try show(
            CallerCheckMessage.self, at: RequestTarget("lists", "check", query: [("caller", caller)]),
            CallerListText.text, in: context)
    }
}
