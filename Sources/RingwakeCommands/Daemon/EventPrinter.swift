import ArgumentParser
import ControlProtocol
import RingwakeCore

/// When a stream of events ends.
struct StreamOptions: ParsableArguments {
    @Option(help: .of("n", "Exit after this many lines."))
    var count: Int?

    @Option(
        help: .of("duration", "Exit after this time: 30s, 5m."), transform: DurationArgument.init(parsing:))
    var timeout: DurationArgument?

    func validate() throws {
        try require((count ?? 1) >= 1, "Give a --count of 1 or more.")
    }

    /// Prints events until the count or the timeout is reached, the reader leaves, or the stream ends.
    ///
    /// - Throws: `timedOut` when fewer events than the count came in time, `unreachable` when the daemon ended the
    ///   stream.
    func print(
        _ stream: consuming EventStream, wantsJSON: Bool, in context: CommandContext
    ) throws(RingwakeError) {
        let deadline = timeout.map { Deadline(after: $0.duration) }
        var seen = 0
        while count.map({ seen < $0 }) ?? true {
            switch try stream.next(until: deadline, output: context.output.descriptor) {
            case .line(let line):
                try show(line, wantsJSON, in: context)
                guard context.output.isOpen else { return }
                seen += 1
            case .outputClosed:
                return
            case .timedOut:
                guard let count else { return }
                throw RingwakeError(
                    .timedOut, "only \(seen) of \(count) events arrived in time; give a longer --timeout")
            case .ended:
                throw RingwakeError(
                    .unreachable,
                    "the daemon closed the stream: it stopped, this reader was too slow, or the handler did not act in "
                        + "time; see the daemon's log")
            }
        }
    }

    private func show(_ line: [UInt8], _ wantsJSON: Bool, in context: CommandContext) throws(RingwakeError) {
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(line)
        } catch {
            throw RingwakeError(.unreachable, "the daemon sent an event that is not JSON; see its log")
        }
        if wantsJSON {
            // Print the line as received, including members that this version doesn't know.
            context.output.write(String(decoding: PlainJSON.escaped(line), as: UTF8.self) + "\n")
            return
        }
        let event: EventMessage = try EventStream.message(line, "an event")
        context.output.write(EventText.line(of: event, style: context.style) + "\n")
    }
}
