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

    /// Begins to count, and the time to run.
    func printer(wantsJSON: Bool, in context: CommandContext) -> EventPrinter {
        EventPrinter(
            count: count, deadline: timeout.map { Deadline(after: $0.duration) }, wantsJSON: wantsJSON,
            context: context)
    }
}

/// Prints events until the count or the timeout is reached, or the reader leaves.
struct EventPrinter {
    /// Why it stopped.
    enum End {
        /// There is nothing more to print.
        case done
        /// The daemon closed the stream.
        case streamClosed
    }

    private let count: Int?
    let deadline: Deadline?
    private let wantsJSON: Bool
    private let context: CommandContext
    /// With this call it ends too, unless a count is given.
    var call: String?
    /// The calls that were shown, over all streams.
    private(set) var calls = SeenCalls()
    private var seen = 0

    fileprivate init(count: Int?, deadline: Deadline?, wantsJSON: Bool, context: CommandContext) {
        self.count = count
        self.deadline = deadline
        self.wantsJSON = wantsJSON
        self.context = context
    }

    /// The error for a stream that the daemon closed.
    static let closed = RingwakeError(
        .unreachable,
        "the daemon closed the stream: it stopped, this reader was too slow, or the handler did not act in time; see "
            + "the daemon's log")

    /// Prints the stream's events.
    ///
    /// - Throws: `timedOut` when fewer events than the count came in time.
    mutating func print(_ stream: consuming EventStream) throws(RingwakeError) -> End {
        while count.map({ seen < $0 }) ?? true {
            switch try stream.next(until: deadline, output: context.output.descriptor) {
            case .line(let line):
                guard isNew(line) else { continue }
                let isLast = try show(line)
                guard context.output.isOpen, !isLast else { return .done }
                seen += 1
            case .outputClosed: return .done
            case .timedOut:
                try timeOut()
                return .done
            case .ended: return .streamClosed
            }
        }
        return .done
    }

    /// Whether the line is to be shown: a stream that is opened again repeats ends of calls.
    private mutating func isNew(_ line: [UInt8]) -> Bool {
        let event: EventMessage? = try? EventStream.message(line, "an event")
        guard case .call(let change)? = event else { return true }
        return calls.note(change)
    }

    /// - Throws: `timedOut` if a count is given: it was not reached.
    func timeOut() throws(RingwakeError) {
        guard let count else { return }
        throw RingwakeError(.timedOut, "only \(seen) of \(count) events arrived in time; give a longer --timeout")
    }

    /// Prints an event. Returns whether it is the end of the call.
    private func show(_ line: [UInt8]) throws(RingwakeError) -> Bool {
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(line)
        } catch {
            throw RingwakeError(.unreachable, "the daemon sent an event that is not JSON; see its log")
        }
        guard wantsJSON else {
            let event: EventMessage = try EventStream.message(line, "an event")
            context.output.write(EventText.line(of: event, style: context.style) + "\n")
            return isEnd(event)
        }
        // Print the line as received, including members that this version doesn't know.
        context.output.write(String(decoding: PlainJSON.escaped(line), as: UTF8.self) + "\n")
        guard call != nil, count == nil else { return false }
        return isEnd(try EventStream.message(line, "an event"))
    }

    private func isEnd(_ event: EventMessage) -> Bool {
        guard count == nil, case .call(let change) = event else { return false }
        return change.call == call && change.state == "ended"
    }
}
