import ArgumentParser
import ControlProtocol
import RingwakeCore

/// A command that runs, as opposed to one that only groups others.
protocol RunnableCommand: ParsableCommand {
    /// Whether `--json` was given.
    var wantsJSON: Bool { get }

    /// Runs the command.
    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus
}

extension RunnableCommand {
    /// Prints `result` as JSON if `--json` was given, else `text`.
    func show(
        _ result: some Encodable, _ text: @autoclosure () -> String, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        context.output.write(wantsJSON ? try JSONText.document(result) : text())
        return .success
    }
}

/// A command that asks the daemon.
protocol DaemonCommand: RunnableCommand {
    var control: ControlOptions { get }
}

extension DaemonCommand {
    var wantsJSON: Bool { control.output.json }

    /// Prints the answer to `GET /v1/...`: as JSON if `--json` was given, else as `text`.
    func show<Answer: Codable>(
        _: Answer.Type, at target: RequestTarget, _ text: (Answer, TextStyle) -> String, in context: CommandContext
    ) throws(RingwakeError) -> ExitStatus {
        let answer: Answer = try control.client(in: context).get(target)
        return try show(answer, text(answer, context.style), in: context)
    }
}

/// The options of every command.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON with a \"schema\" number. Errors become one JSON line on standard error.")
    var json = false
}

extension CommandConfiguration {
    /// A command whose help begins with examples.
    init(
        _ name: String, _ abstract: String, usage: String? = nil, examples: String, details: String = "",
        version: String = "", subcommands: [any ParsableCommand.Type] = [], groupedSubcommands: [CommandGroup] = [],
        defaultSubcommand: (any ParsableCommand.Type)? = nil
    ) {
        let lines = examples.split(separator: "\n", omittingEmptySubsequences: false)
        let indented = lines.map { $0.isEmpty ? "" : "  " + $0 }.joined(separator: "\n")
        self.init(
            commandName: name, abstract: abstract, usage: usage,
            discussion: "EXAMPLES:\n" + indented + (details.isEmpty ? "" : "\n\n" + details), version: version,
            subcommands: subcommands, groupedSubcommands: groupedSubcommands, defaultSubcommand: defaultSubcommand)
    }
}

extension ArgumentHelp {
    /// Help for an option or argument whose value is called `value`.
    static func of(_ value: String, _ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: value) }
}

/// Refuses a command line.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw ValidationError(message()) }
}

/// Refuses a number outside of an option's range. Accepts nil.
func require(_ option: String, _ number: Int?, in range: ClosedRange<Int>) throws {
    try require(
        number.map(range.contains) ?? true,
        "Give a number between \(range.lowerBound) and \(range.upperBound) for \(option).")
}
