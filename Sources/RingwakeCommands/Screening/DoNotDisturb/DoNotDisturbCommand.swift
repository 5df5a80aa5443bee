import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake dnd`
struct DoNotDisturbCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "dnd", "Control do not disturb: by command and by schedule.",
        examples: """
            ringwake dnd
            ringwake dnd on --for 1h
            ringwake dnd on --until 07:00
            ringwake dnd off
            ringwake dnd schedule add mon-fri 22:00-07:00
            ringwake dnd allow --caller +4989123456 --app com.example.doorbell
            ringwake dnd repeat 3m
            """,
        details: """
            A blocked call does not ring; it is recorded with the reason
            ('ringwake call list'). Changes apply immediately and survive
            restarts.
            """,
        subcommands: [
            DoNotDisturbStatusCommand.self, DoNotDisturbOnCommand.self, DoNotDisturbOffCommand.self,
            DoNotDisturbScheduleCommand.self, DoNotDisturbAllowCommand.self, DoNotDisturbDisallowCommand.self,
            DoNotDisturbRepeatCommand.self,
        ],
        defaultSubcommand: DoNotDisturbStatusCommand.self)
}

/// A command that reads or changes do not disturb, and shows it afterwards.
protocol DoNotDisturbSubcommand: DaemonCommand {}

private let target = RequestTarget("dnd")

extension DoNotDisturbSubcommand {
    /// The current state.
    func current(in context: CommandContext) throws(RingwakeError) -> DoNotDisturbMessage {
        try control.client(in: context).get(target)
    }

    /// Changes it and shows the new state.
    func change(
        in context: CommandContext, _ set: (inout DoNotDisturbChange) -> Void
    ) throws(RingwakeError) -> ExitStatus {
        var change = DoNotDisturbChange.none
        set(&change)
        return try show(try control.client(in: context).put(target, change), in: context)
    }

    func show(_ message: DoNotDisturbMessage, in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(message, DoNotDisturbText.text(of: message, style: context.style), in: context)
    }
}

/// `ringwake dnd status`, the default of `ringwake dnd`
struct DoNotDisturbStatusCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "status", "Show whether calls are blocked, until when, and the exceptions.",
        examples: """
            ringwake dnd
            ringwake dnd status --json | jq .active
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(try current(in: context), in: context)
    }
}

/// `ringwake dnd on`
struct DoNotDisturbOnCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "on", "Switch do not disturb on.",
        examples: """
            ringwake dnd on
            ringwake dnd on --for 90m
            ringwake dnd on --until 07:00
            """,
        details: """
            Without --for and --until it lasts until 'ringwake dnd off'.
            """)

    @Option(
        name: .customLong("for"), help: .of("duration", "Block calls for this long: 30m, 2h, 1d."),
        transform: DurationArgument.init(parsing:))
    var duration: DurationArgument?

    @Option(help: .of("hh:mm", "Block calls until the next time the clock shows this local time."))
    var until: TimeOfDayArgument?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        try require(duration == nil || until == nil, "Give one of --for and --until.")
        try require((duration?.duration ?? .seconds(1)) >= .seconds(1), "Give a --for of one second or more.")
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let now = WallClock.seconds()
        let end = duration.map { now + $0.duration.components.seconds } ?? until.map { $0.next(after: now) }
        return try change(in: context) {
            $0.state = "on"
            $0.until = end.map { UTCTime(milliseconds: $0 * 1000).description }
        }
    }
}

/// `ringwake dnd off`
struct DoNotDisturbOffCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "off", "Switch do not disturb off.",
        examples: """
            ringwake dnd off
            """,
        details: """
            Ends 'dnd on', and skips the rest of the scheduled period that is active now.
            The schedule stays; 'ringwake dnd schedule clear' removes it.
            """)

    @OptionGroup var control: ControlOptions

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try change(in: context) { $0.state = "off" }
    }
}

/// `ringwake dnd repeat`
struct DoNotDisturbRepeatCommand: DoNotDisturbSubcommand {
    static let configuration = CommandConfiguration(
        "repeat", "Let a caller's second call ring if it follows the first closely.",
        examples: """
            ringwake dnd repeat 3m
            ringwake dnd repeat off
            """)

    @Argument(help: .of("duration", "Maximum time between the two calls: 1s to 1h, or off."))
    var within: String

    @OptionGroup var control: ControlOptions

    func validate() throws {
        _ = try milliseconds
    }

    /// 0 for off.
    private var milliseconds: Int64 {
        get throws(ValidationError) {
            if within == "off" { return 0 }
            do {
                let duration = try DurationArgument(parsing: within).duration
                if (.seconds(1)...DoNotDisturb.longestRepeat).contains(duration) { return duration.milliseconds }
            } catch {
                throw ValidationError("'\(within)' is neither 'off' nor a duration: \(error)")
            }
            throw ValidationError("'\(within)' is neither 'off' nor a duration from 1s to 1h.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let milliseconds: Int64
        do throws(ValidationError) {
            milliseconds = try self.milliseconds
        } catch {
            throw RingwakeError(.invalidRequest, error.message)
        }
        return try change(in: context) { $0.repeatWithinMs = milliseconds }
    }
}
