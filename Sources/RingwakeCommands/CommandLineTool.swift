import ArgumentParser
import ControlProtocol
import Glibc
import RingwakeCore

/// The program `ringwake`: reads the command line, runs one command, and answers with an exit status.
///
///     exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst())))
///
/// Results go to standard output, errors to standard error: `ringwake: MESSAGE`, or with `--json` one line
/// ``ErrorMessage``, so that a pipe never takes an error for a result. A push that was refused is a result; its
/// exit status says so.
package enum CommandLineTool {
    /// Exit status of an invalid command line, instead of argument-parser's 64.
    static let usageStatus = RingwakeError.Code.invalidRequest.exitStatus

    /// Runs the command that `arguments` name (without the program's own name).
    ///
    /// - Returns: the exit status, by `RingwakeError.Code.exitStatus`; 0 when all went well.
    package static func run(_ arguments: [String]) -> Int32 {
        // A write to a closed pipe (`ringwake watch | head -1`) or connection then fails with EPIPE.
        signal(SIGPIPE, SIG_IGN)
        return run(arguments, in: CommandContext(environment: ProcessEnvironment.variable, userID: geteuid()))
    }

    /// Runs the command in a given context, for tests.
    static func run(_ arguments: [String], in context: CommandContext) -> Int32 {
        let command: any ParsableCommand
        do {
            command = try RingwakeCommand.parseAsRoot(CommandTree.arranged(arguments))
        } catch {
            return report(
                parsing: error, mistake: CommandTree.mistake(in: arguments), wantsJSON: wantsJSON(arguments),
                in: context)
        }
        guard let runnable = command as? any RunnableCommand else {
            return runGroup(command, in: context)
        }
        do throws(RingwakeError) {
            let status = try runnable.run(in: context)
            try context.output.finish()
            return status.code
        } catch {
            return report(error, wantsJSON: runnable.wantsJSON, in: context)
        }
    }

    /// A command that only groups others prints its help.
    private static func runGroup(_ command: any ParsableCommand, in context: CommandContext) -> Int32 {
        var command = command
        do {
            try command.run()
            return 0
        } catch {
            return report(parsing: error, mistake: nil, wantsJSON: false, in: context)
        }
    }

    private static func report(_ error: RingwakeError, wantsJSON: Bool, in context: CommandContext) -> Int32 {
        if wantsJSON {
            context.errors.write(bytes: controlLine(ErrorMessage(error: error.code.slug, message: error.message)))
        } else {
            context.errors.write("ringwake: \(TerminalText.printable(error.message))\n")
        }
        return error.code.exitStatus
    }

    /// The width of help: argument-parser breaks lines of this length, so lines have at most 80 columns. It is fixed,
    /// because wrapping at a narrow terminal's width would break the examples; such a terminal wraps them itself, and
    /// they can be copied as a whole.
    static let helpColumns = 81

    /// Help, version and completion scripts arrive as errors too; their exit status is 0.
    ///
    /// - Parameter mistake: describes a wrong command better than `error`; nil: there is none.
    private static func report(
        parsing error: any Error, mistake: String?, wantsJSON: Bool, in context: CommandContext
    ) -> Int32 {
        var text = RingwakeCommand.fullMessage(for: error, columns: helpColumns)
        guard !RingwakeCommand.exitCode(for: error).isSuccess else {
            // A shell asked for values, and there are none.
            if !text.isEmpty { context.output.write(text + "\n") }
            return 0
        }
        let message = RingwakeCommand.message(for: error)
        guard !wantsJSON else {
            return report(RingwakeError(.invalidRequest, mistake ?? message), wantsJSON: true, in: context)
        }
        if text.hasPrefix("Error: ") {
            text.removeFirst("Error: ".count)
        }
        if let mistake, text.hasPrefix(message) {
            text = TerminalText.printable(mistake) + text.dropFirst(message.count)
        }
        context.errors.write("ringwake: \(text)\n")
        return usageStatus
    }

    /// Whether `--json` was given, for a command line that can't be parsed.
    private static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix { $0 != "--" }.contains("--json")
    }
}

/// The exit status of a command that printed its result.
struct ExitStatus: Equatable, Sendable {
    let code: Int32

    /// All went well.
    static let success = ExitStatus(code: 0)

    /// A refusal that was reported as a result.
    static let rejected = ExitStatus(code: RingwakeError.Code.rejectedByPeer.exitStatus)

    /// A configuration that is wrong in part, which was reported with the result.
    static let badConfiguration = ExitStatus(code: RingwakeError.Code.badConfiguration.exitStatus)

    /// A target that cannot be reached, which was reported as a result.
    static let unreachable = ExitStatus(code: RingwakeError.Code.unreachable.exitStatus)
}
