import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// Prints the events of a stream as they come.
struct EventPrinter {
    let wantsJSON: Bool
    /// After how many events it ends; nil: never.
    var count: Int?
    /// After how long it ends; nil: never.
    var timeout: Duration?

    /// Prints until the count, the timeout, the reader's leaving or the stream's end.
    ///
    /// - Throws: `timedOut` when fewer events than the count came in time, `unreachable` when the daemon ended the
    ///   stream.
    func print(_ stream: consuming EventStream, in context: CommandContext) throws(RingwakeError) {
        let deadline = timeout.map { Deadline(after: $0) }
        var seen = 0
        while count.map({ seen < $0 }) ?? true {
            switch try stream.next(until: deadline, output: context.output.descriptor) {
            case .line(let line):
                try show(line, in: context)
                guard context.output.isOpen else { return }
                seen += 1
            case .outputClosed:
                return
            case .timedOut:
                guard let count else { return }
                throw RingwakeError(
                    .timedOut, "\(seen) of \(count) events came in time; --timeout gives them longer")
            case .ended:
                throw RingwakeError(
                    .unreachable,
                    "the daemon ended the stream: it stopped, or this reader was too slow for it; see its log")
            }
        }
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
