import PushClient
import RingwakeCore

/// The results of several pushes over one connection.
struct PushSeries {
    private var answers: [String: Int] = [:]
    private var microseconds: [Int64] = []
    /// Whether all of them were accepted.
    private(set) var isAllAccepted = true

    mutating func add(_ result: PushResult) {
        let outcome = result.outcome.flatMap { $0 == PushOutcome.started.rawValue ? nil : ": \($0)" } ?? ""
        let verdict = result.accepted ? "accepted\(outcome)" : "\(result.status) \(result.reason ?? "refused")"
        answers[verdict, default: 0] += 1
        microseconds.append(result.timings.totalUs)
        isAllAccepted = isAllAccepted && result.accepted
    }

    /// Counts by answer, and how long the answers took.
    func text(style: TextStyle) -> String {
        var table = TextTable([.left, .right])
        for (verdict, count) in answers.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            table.add([TerminalText.printable(verdict), "\(count)"])
        }
        let sorted = microseconds.sorted()
        guard let fastest = sorted.first, let slowest = sorted.last else { return "" }
        let percentile = { (percent: Int) in sorted[(sorted.count - 1) * percent / 100] }
        let times = [fastest, percentile(50), percentile(99), slowest].map { DurationText.short(microseconds: $0) }
        let lines =
            [style.bold("\(sorted.count) pushes")] + table.lines(indent: 2)
            + ["  answered after \(times[0]) at best, \(times[1]) median, \(times[2]) at 99 %, \(times[3]) at worst"]
        return lines.joined(separator: "\n") + "\n"
    }
}
