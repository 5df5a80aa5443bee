import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake dnd schedule`
struct DoNotDisturbScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "schedule", "Block calls at certain times.",
        examples: """
            ringwake dnd schedule
            ringwake dnd schedule add mon-fri 22:00-07:00
            ringwake dnd schedule add daily 13:00-14:00
            ringwake dnd schedule add sat,sun 00:00-24:00
            ringwake dnd schedule remove mon-fri 22:00-07:00
            ringwake dnd schedule clear
            """,
        subcommands: [
            DoNotDisturbScheduleListCommand.self, DoNotDisturbScheduleAddCommand.self,
            DoNotDisturbScheduleRemoveCommand.self, DoNotDisturbScheduleClearCommand.self,
        ],
        defaultSubcommand: DoNotDisturbScheduleListCommand.self)
}

/// One entry of the schedule, in one word or in two.
struct ScheduleEntryArguments: ParsableArguments {
    @Argument(help: .of("days> <times", "Days and times, such as mon-fri 22:00-07:00."))
    var words: [String] = []

    func validate() throws {
        try require(!words.isEmpty, "Give days and times, such as mon-fri 22:00-07:00.")
    }

    var text: String { words.joined(separator: " ") }
}

/// `ringwake dnd schedule list`, the default of `ringwake dnd schedule`
struct DoNotDisturbScheduleListCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "list", "List the times, in the form that 'remove' takes.",
        examples: """
            ringwake dnd schedule list
            ringwake dnd schedule list --json | jq -r '.schedule[]'
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let current = try current(in: context)
        guard !wantsJSON else { return try show(current, in: context) }
        context.output.write(
            current.schedule.isEmpty
                ? "no schedule; add one with 'ringwake dnd schedule add mon-fri 22:00-07:00'\n"
                : current.schedule.map { TerminalText.printable($0) + "\n" }.joined())
        return .success
    }
}

/// `ringwake dnd schedule add`
struct DoNotDisturbScheduleAddCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "add", "Add a time at which calls are blocked.",
        examples: """
            ringwake dnd schedule add mon-fri 22:00-07:00
            ringwake dnd schedule add daily 13:00-14:00
            """,
        details: """
            Days are mon to sun, joined by - and commas, or daily; an entry belongs to the
            day on which it begins. Times are in the device's local time; a time that ends
            before it begins continues over midnight.
            """)

    @OptionGroup var entry: ScheduleEntryArguments
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let entry = try QuietHours(entry.text).description
        let current = try current(in: context)
        guard !current.schedule.contains(entry) else { return try show(current, in: context) }
        return try change(in: context) { $0.schedule = current.schedule + [entry] }
    }
}

/// `ringwake dnd schedule remove`
struct DoNotDisturbScheduleRemoveCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove a time.",
        examples: """
            ringwake dnd schedule remove mon-fri 22:00-07:00
            """)

    @OptionGroup var entry: ScheduleEntryArguments
    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let entry = try QuietHours(entry.text).description
        let current = try current(in: context)
        guard current.schedule.contains(entry) else {
            throw RingwakeError(.notFound, "the schedule has no '\(entry)'; 'ringwake dnd schedule' lists the entries")
        }
        return try change(in: context) { $0.schedule = current.schedule.filter { $0 != entry } }
    }
}

/// `ringwake dnd schedule clear`
struct DoNotDisturbScheduleClearCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "clear", "Remove the whole schedule.",
        examples: """
            ringwake dnd schedule clear
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try change(in: context) { $0.schedule = [] }
    }
}
