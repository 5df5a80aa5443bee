import ControlProtocol

/// The timeline of a call or a push, for people.
enum TimelineText {
    /// Each stage with the time since the push arrived, the time since the previous stage, and the time of day.
    ///
    /// - Parameters:
    ///   - receivedAt: when the push arrived, in the daemon's format; without it the column of times stays empty.
    ///   - start: what arrived then.
    static func text(of timeline: [Hop], receivedAt: String, since start: String = "push", style: TextStyle) -> String {
        let arrival = UTCTime(receivedAt)
        var table = TextTable([.left, .right, .right, .left])
        table.add(["stage", "since \(start)", "step", arrival == nil ? "" : style.times.heading])
        var previous: Int64?
        for hop in timeline {
            let step = previous.map { hop.atUs.subtractingReportingOverflow($0).partialValue }
            table.add([
                TerminalText.printable(hop.stage) + (hop.by.map { " (by \(TerminalText.printable($0)))" } ?? ""),
                DurationText.short(microseconds: hop.atUs),
                step.map { "+" + DurationText.short(microseconds: $0) } ?? "",
                arrival.map { timeOfDay(hop, after: $0, style.times) } ?? "",
            ])
            previous = hop.atUs
        }
        var lines = table.lines(indent: 2)
        lines[0] = style.dim(lines[0])
        return lines.joined(separator: "\n") + "\n"
    }

    /// `18:58:52.123`
    private static func timeOfDay(_ hop: Hop, after arrival: UTCTime, _ times: TimeStyle) -> String {
        let (sum, overflow) = arrival.milliseconds.addingReportingOverflow(hop.atUs / 1000)
        return times.timeOfDay(milliseconds: overflow ? .max : sum)
    }
}
