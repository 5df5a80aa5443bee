import RingwakeCore
import RunLoop

/// Shows on a terminal how far work has come, and how long it will take.
final class WorkProgress {
    /// What is counted.
    enum Unit {
        case bytes
        case entries, rows, percent
    }

    /// How long a line stands before the next.
    private static let step = Duration.milliseconds(200)
    /// Before this time, a step's speed says too little about its end.
    private static let firstEstimate = Duration.milliseconds(500)

    /// A part of the work.
    private struct Stage {
        let name: String
        let total: Int64?
        let unit: Unit
        let start = BootClock.now()
        var done: Int64 = 0
    }

    private let output: Output
    private let name: String
    private var stage: Stage?
    private var next = Deadline(after: WorkProgress.step)
    private var isShown = false

    /// - Parameter output: standard error; nothing is shown where it is no terminal.
    init(_ name: String, on output: Output) {
        self.name = name
        self.output = output
    }

    /// Begins a part of the work.
    ///
    /// - Parameters:
    ///   - stage: what happens, for people: `reading`.
    ///   - total: how much there is to do; nil: unknown.
    func begin(_ stage: String, of total: Int64?, unit: Unit) {
        self.stage = Stage(name: stage, total: total, unit: unit)
        guard output.isTerminal, isShown || next.hasPassed else { return }
        show()
    }

    /// That much more is done.
    func advance(by count: Int) { advance(to: (stage?.done ?? 0) + Int64(count)) }

    /// That much is done.
    func advance(to done: Int64) {
        stage?.done = done
        guard output.isTerminal, next.hasPassed else { return }
        show()
    }

    /// Removes the line.
    func end() {
        guard isShown else { return }
        isShown = false
        output.write("\r\u{1B}[K")
    }

    private func show() {
        guard let stage else { return }
        next = Deadline(after: WorkProgress.step)
        isShown = true
        let line = WorkProgress.line(
            stage.name, done: stage.done, of: stage.total, unit: stage.unit,
            after: stage.start.duration(to: BootClock.now()))
        output.write("\r\(name): \(line)\u{1B}[K")
    }

    /// `reading, 43 %, 12 s left`; without a total `reading, 512 KiB`.
    static func line(_ stage: String, done: Int64, of total: Int64?, unit: Unit, after elapsed: Duration) -> String {
        guard let total, total > 0 else {
            let amount =
                switch unit {
                case .bytes: "\(done / 1024) KiB"
                case .entries: CallerListText.entries(Int(clamping: done))
                case .rows: "\(done) rows"
                case .percent: "\(done) %"
                }
            return done == 0 ? stage : "\(stage), \(amount)"
        }
        // A file may grow while it is read.
        let share = min(1, Double(done) / Double(total))
        let text = "\(stage), \(Int(share * 100)) %"
        guard elapsed >= firstEstimate, done > 0 else { return text }
        let (product, overflow) = elapsed.milliseconds.multipliedReportingOverflow(by: max(0, total - done))
        guard !overflow, product < .max - 1000 else { return text }
        // Round up, so that it is 0 only at the end.
        let seconds = (product / done + 999) / 1000
        return "\(text), \(DurationText.long(milliseconds: seconds * 1000)) left"
    }
}
