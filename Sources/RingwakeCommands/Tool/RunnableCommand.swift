import ArgumentParser
import RingwakeCore

/// A command that does something, as opposed to one that only groups others.
protocol RunnableCommand: ParsableCommand {
    /// Whether `--json` was given.
    var wantsJSON: Bool { get }

    /// Does it.
    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus
}

/// What every command takes.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON with a \"schema\" number. Errors become one JSON line on standard error.")
    var json = false

    init() {}
}
