import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake dnd`
struct DoNotDisturbCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dnd",
        abstract: "Do not disturb: keep calls out by command and by schedule.",
        discussion: """
            EXAMPLES:
              ringwake dnd
              ringwake dnd on --for 1h
              ringwake dnd on --until 07:00
              ringwake dnd off
              ringwake dnd schedule add mon-fri 22:00-07:00
              ringwake dnd allow --caller +4989123456 --app com.example.doorbell
              ringwake dnd repeat 3m

            A call that is kept out does not ring; it is recorded with the reason
            ('ringwake call list'). What is changed is in force at once and stays over
            restarts.
            """,
        subcommands: [
            DoNotDisturbStatusCommand.self, DoNotDisturbOnCommand.self, DoNotDisturbOffCommand.self,
            DoNotDisturbScheduleCommand.self, DoNotDisturbAllowCommand.self, DoNotDisturbDisallowCommand.self,
            DoNotDisturbRepeatCommand.self,
        ],
        defaultSubcommand: DoNotDisturbStatusCommand.self)
}

/// Where do not disturb is asked for and changed, and how the answer is shown.
struct DoNotDisturbOptions: ParsableArguments {
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    private static let target = RequestTarget("dnd")

    /// How it stands.
    func current(in context: CommandContext) throws(RingwakeError) -> DoNotDisturbMessage {
        try control.client(in: context).get(DoNotDisturbOptions.target)
    }

    /// Changes it and shows how it stands then.
    func change(_ change: DoNotDisturbChange, in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try show(try control.client(in: context).put(DoNotDisturbOptions.target, change), in: context)
    }

    func show(_ message: DoNotDisturbMessage, in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        context.output.write(
            output.json
                ? try JSONText.document(message) : DoNotDisturbText.text(of: message, style: context.style))
        return .success
    }
}

/// `ringwake dnd status`, which `ringwake dnd` alone is too
struct DoNotDisturbStatusCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether calls are kept out, until when, and who rings all the same.",
        discussion: """
            EXAMPLES:
              ringwake dnd
              ringwake dnd status --json | jq .active
            """)

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.show(try options.current(in: context), in: context)
    }
}

/// `ringwake dnd on`
struct DoNotDisturbOnCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "on",
        abstract: "Keep calls out from now on.",
        discussion: """
            EXAMPLES:
              ringwake dnd on
              ringwake dnd on --for 90m
              ringwake dnd on --until 07:00

            Without --for and --until it lasts until 'ringwake dnd off'.
            """)

    @Option(name: .customLong("for"), help: ArgumentHelp("For so long: 30m, 2h, 1d.", valueName: "duration"))
    var duration: DurationArgument?

    @Option(
        help: ArgumentHelp("Until this time of day comes next, by this machine's local time.", valueName: "hh:mm"))
    var until: TimeOfDayArgument?

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func validate() throws {
        guard duration == nil || until == nil else {
            throw ValidationError("Give one of --for and --until.")
        }
        if let duration, duration.duration < .seconds(1) {
            throw ValidationError("--for is a second or more.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let now = WallClock.seconds()
        let end = duration.map { now + $0.duration.components.seconds } ?? until.map { $0.next(after: now) }
        return try options.change(
            DoNotDisturbChange(state: "on", until: end.map { UTCTime(milliseconds: $0 * 1000).description }),
            in: context)
    }
}

/// `ringwake dnd off`
struct DoNotDisturbOffCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "off",
        abstract: "Let calls ring again from now on.",
        discussion: """
            EXAMPLES:
              ringwake dnd off

            Ends what was switched on by command, and lets the time of the schedule pass
            that lasts now. The schedule stays; 'ringwake dnd schedule clear' removes it.
            """)

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.change(DoNotDisturbChange(state: "off"), in: context)
    }
}

/// `ringwake dnd repeat`
struct DoNotDisturbRepeatCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repeat",
        abstract: "Let a caller through who calls a second time soon after the first.",
        discussion: """
            EXAMPLES:
              ringwake dnd repeat 3m
              ringwake dnd repeat off
            """)

    @Argument(
        help: ArgumentHelp("Within how long the second call has to come: 1s to 1h, or off.", valueName: "duration"))
    var within: String

    @OptionGroup var options: DoNotDisturbOptions

    var wantsJSON: Bool { options.output.json }

    func validate() throws {
        guard milliseconds != nil else {
            throw ValidationError("'\(within)' is neither 'off' nor a duration from 1s to 1h.")
        }
    }

    /// 0 for off; nil for what makes no sense.
    private var milliseconds: Int64? {
        if within == "off" { return 0 }
        guard let duration = DurationArgument(argument: within)?.duration,
            (.seconds(1)...DoNotDisturb.longestRepeat).contains(duration)
        else { return nil }
        return duration.milliseconds
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.change(DoNotDisturbChange(repeatWithinMs: milliseconds), in: context)
    }
}
