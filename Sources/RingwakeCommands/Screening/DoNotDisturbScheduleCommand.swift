import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake dnd schedule`
struct DoNotDisturbScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Keep calls out at certain times.",
        discussion: """
            EXAMPLES:
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
    @Argument(help: ArgumentHelp("Days and times, such as mon-fri 22:00-07:00.", valueName: "days> <times"))
    var words: [String] = []

    func validate() throws {
        guard !words.isEmpty else {
            throw ValidationError("Give days and times, such as mon-fri 22:00-07:00.")
        }
    }

    var text: String { words.joined(separator: " ") }
}

/// `ringwake dnd schedule list`, which `ringwake dnd schedule` alone is too
struct DoNotDisturbScheduleListCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the times, in the form that 'remove' takes.",
        discussion: """
            EXAMPLES:
              ringwake dnd schedule list
              ringwake dnd schedule list --json | jq -r '.schedule[]'
            """)

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let current = try options.current(in: context)
        guard !wantsJSON else { return try options.show(current, in: context) }
        context.output.write(
            current.schedule.isEmpty
                ? "no schedule; add one with 'ringwake dnd schedule add mon-fri 22:00-07:00'\n"
                : current.schedule.map { TerminalText.printable($0) + "\n" }.joined())
        return .success
    }
}

/// `ringwake dnd schedule add`
struct DoNotDisturbScheduleAddCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a time at which calls are kept out.",
        discussion: """
            EXAMPLES:
              ringwake dnd schedule add mon-fri 22:00-07:00
              ringwake dnd schedule add daily 13:00-14:00

            Days are mon to sun, joined by - and commas, or daily; an entry belongs to the
            day that it begins on. Times are of the device's local time; one that ends
            before it begins goes over midnight.
            """)

    @OptionGroup var entry: ScheduleEntryArguments
    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let entry = try QuietHours(entry.text).description
        let current = try options.current(in: context)
        guard !current.schedule.contains(entry) else { return try options.show(current, in: context) }
        return try options.change(DoNotDisturbChange(schedule: current.schedule + [entry]), in: context)
    }
}

/// `ringwake dnd schedule remove`
struct DoNotDisturbScheduleRemoveCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a time.",
        discussion: """
            EXAMPLES:
              ringwake dnd schedule remove mon-fri 22:00-07:00
            """)

    @OptionGroup var entry: ScheduleEntryArguments
    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let entry = try QuietHours(entry.text).description
        let current = try options.current(in: context)
        guard current.schedule.contains(entry) else {
            throw RingwakeError(.notFound, "no '\(entry)' in the schedule; 'ringwake dnd schedule' lists what is")
        }
        return try options.change(DoNotDisturbChange(schedule: current.schedule.filter { $0 != entry }), in: context)
    }
}

/// `ringwake dnd schedule clear`
struct DoNotDisturbScheduleClearCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove the whole schedule.",
        discussion: """
            EXAMPLES:
              ringwake dnd schedule clear
            """)

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.change(DoNotDisturbChange(schedule: []), in: context)
    }
}
