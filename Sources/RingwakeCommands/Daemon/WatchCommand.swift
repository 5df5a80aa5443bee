import ArgumentParser
import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// `ringwake watch`
struct WatchCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what happens, as it happens.",
        discussion: """
            EXAMPLES:
              ringwake watch
              ringwake watch --app com.example.phone
              ringwake watch --json --count 1 --timeout 30s
              ringwake watch --json | jq 'select(.state == "ringing")'

            Begins with where each matching call stands now. With --json, one JSON object
            a line. Ends after --count events, after --timeout, when the daemon stops, or
            with Ctrl-C. When --count events did not come before --timeout, the exit
            status is 6.
            """)

    @Option(help: ArgumentHelp("Only events of this app (default: $RINGWAKE_APP).", valueName: "id"))
    var app: String?

    @Option(help: ArgumentHelp("Only events of this call.", valueName: "id"))
    var call: String?

    @Option(help: ArgumentHelp("End after this many events.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End after this long: 30s, 5m.", valueName: "duration"))
    var timeout: DurationArgument?

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    var wantsJSON: Bool { output.json }

    func validate() throws {
        if let count, count < 1 {
            throw ValidationError("--count is 1 or more.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let target = ControlTarget(
            ["events"], query: [("app", app ?? context.environment("RINGWAKE_APP")), ("call", call)])
        let deadline = timeout.map { Deadline(after: $0.duration) }
        var stream = try control.client(in: context).events(target)
        var seen = 0
        while count.map({ seen < $0 }) ?? true {
            switch try stream.next(until: deadline, output: context.output.descriptor) {
            case .line(let line):
                try show(line, in: context)
                guard context.output.isOpen else { return .success }
                seen += 1
            case .outputClosed:
                return .success
            case .timedOut:
                guard let count else { return .success }
                throw RingwakeError(
                    .timedOut, "\(seen) of \(count) events came in time; --timeout gives them longer")
            case .ended:
                throw RingwakeError(
                    .unreachable,
                    "the daemon ended the stream: it stopped, or this reader was too slow for it; see its log")
            }
        }
        return .success
    }

    private func show(_ line: [UInt8], in context: CommandContext) throws(RingwakeError) {
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(line)
        } catch {
            throw RingwakeError(.unreachable, "the daemon sent an event that is not JSON; see its log")
        }
        if wantsJSON {
            // With members that this version does not know: those pass through.
            context.output.write(String(decoding: PlainJSON.escaped(line), as: UTF8.self) + "\n")
            return
        }
        guard let event = try? JSONDecoder().decode(EventMessage.self, from: Data(line)) else {
            throw RingwakeError(
                .unreachable,
                "the daemon sent an event that this version does not know; install the same version of both")
        }
        context.output.write(EventText.line(of: event, style: context.style) + "\n")
    }
}
