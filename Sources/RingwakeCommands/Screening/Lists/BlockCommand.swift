import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake block`
struct BlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "block", "Manage lists that block or identify callers.",
        examples: """
            ringwake block add +49900123456
            ringwake block add '+49900*' '*@spam.example' --label 'premium rate'
            ringwake block list
            ringwake block check sip:bob@spam.example
            ringwake block import contacts.vcf --identify
            ringwake block import https://lists.example/spam.csv --list spam
            ringwake block import --refresh
            """,
        details: """
            A pattern is a number, +49900* for all numbers with that beginning, an address
            such as alice@example.org, *@example.org for all callers of a host, or
            anonymous. Lists survive restarts; changes apply immediately. Look-ups happen
            on this device only. The call log shows a blocked call with the reason.
            """,
        subcommands: [
            BlockAddCommand.self, BlockRemoveCommand.self, BlockListCommand.self, BlockCheckCommand.self,
            BlockImportCommand.self,
        ])
}

/// Which list, and of which kind.
struct CallerListOptions: ParsableArguments {
    /// The default list of each kind.
    static let blockList = "blocked"
    static let identificationList = "known"

    @Option(
        name: .customLong("list"),
        help: .of("name", "The list (default: \(blockList), with --identify \(identificationList))."),
        completion: .lists)
    var named: CallerListNameArgument?

    @Flag(help: "Use a list that identifies callers and does not block them.")
    var identify = false

    var name: String {
        named?.name ?? (identify ? CallerListOptions.identificationList : CallerListOptions.blockList)
    }

    /// Timeout of a change. The daemon answers when the changed list is in use, which takes a while for a million
    /// entries.
    static let changeTimeout = Duration.seconds(300)

    /// The kind to create a list with; nil for a named list, which keeps its kind.
    var kind: CallerListKind? {
        identify ? .identify : named == nil ? .block : nil
    }
}

/// The name of a list on the command line.
struct CallerListNameArgument: ExpressibleByArgument, Equatable {
    let name: String

    init?(argument: String) {
        guard ControlAPI.isListName(argument) else { return nil }
        name = argument
    }
}

/// `ringwake block add`
struct BlockAddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "add", "Add callers to a list.",
        examples: """
            ringwake block add +49900123456
            ringwake block add '+49900*' '*@spam.example' --label 'premium rate'
            ringwake block add anonymous
            ringwake block add +4989123456 --label 'Dr. Bauer' --identify
            """)

    /// Maximum patterns of one command; an import accepts more.
    static let maximumPatterns = 500

    @Argument(help: .of("pattern", "The callers to add."))
    var patterns: [String]

    @Option(help: .of("text", "Who they are, or why they are listed."))
    var label: String?

    @OptionGroup var list: CallerListOptions
    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(
            patterns.count <= BlockAddCommand.maximumPatterns,
            "Give at most \(BlockAddCommand.maximumPatterns) patterns; use 'ringwake block import FILE' for more.")
        try require(!list.identify || label != nil, "An identification list needs names: give --label.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var entries: [CallerEntryMessage] = []
        for pattern in patterns {
            let entry = CallerEntry(pattern: try CallerPattern(pattern), label: label)
            entries.append(CallerEntryMessage(pattern: entry.pattern.description, label: entry.label))
        }
        var client = control.client(in: context)
        client.timeout = CallerListOptions.changeTimeout
        let _: CallerListMessage = try client.put(
            RequestTarget("lists", list.name), CallerListCreation(kind: list.kind?.rawValue))
        let changed: CallerListMessage = try client.post(
            RequestTarget("lists", list.name, "entries"), CallerListChange(add: entries))
        return try show(changed, CallerListText.summary(of: changed) + "\n", in: context)
    }
}

/// `ringwake block remove`
struct BlockRemoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove callers from a list, or a whole list.",
        examples: """
            ringwake block remove +49900123456
            ringwake block remove '*@spam.example' --list spam
            ringwake block remove --all --list spam
            """)

    @Argument(help: .of("pattern", "The entries, as 'ringwake block list NAME' shows them."))
    var patterns: [String] = []

    @Flag(help: "Remove the list itself, with all its entries.")
    var all = false

    @OptionGroup var list: CallerListOptions
    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(patterns.isEmpty == all, "Give the entries to remove, or --all for the whole list.")
        try require(!all || list.named != nil, "--all needs --list: name the list to remove.")
        try require(
            patterns.count <= BlockAddCommand.maximumPatterns,
            "Give at most \(BlockAddCommand.maximumPatterns) patterns.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        var client = control.client(in: context)
        client.timeout = CallerListOptions.changeTimeout
        let changed: CallerListMessage
        if all {
            changed = try client.delete(RequestTarget("lists", list.name))
        } else {
            var remove: [String] = []
            for pattern in patterns {
                remove.append(try CallerPattern(pattern).description)
            }
            let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
            changed = try client.post(
                RequestTarget("lists", list.name, "entries"), CallerListChange(remove: remove))
            let before = lists.lists.first { $0.list == list.name }?.entries ?? changed.entries
            try check(removed: before - changed.entries, of: remove)
        }
        let text = all ? "removed the list '\(changed.list)'" : CallerListText.summary(of: changed)
        return try show(changed, TerminalText.printable(text) + "\n", in: context)
    }

    /// The daemon ignores patterns that the list doesn't have, so the number of entries shows whether it had them.
    private func check(removed: Int, of patterns: [String]) throws(RingwakeError) {
        guard removed < Set(patterns).count else { return }
        let what =
            patterns.count == 1
            ? "'\(patterns[0])' is not in the list '\(list.name)'"
            : "only \(removed) of \(patterns.count) patterns were in the list '\(list.name)', and were removed"
        throw RingwakeError(
            .notFound, "\(what); 'ringwake block list \(list.name)' shows its entries as they have to be written")
    }
}
