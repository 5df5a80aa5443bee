import RunLoop
import Testing

@Suite("Driving a state machine")
struct StateMachineDriverTests {
    /// Counts down by deadlines, and notes what it was given.
    private final class Owner {
        let loop: RunLoop
        var deadline: BootClock.Instant?
        var seen: [String] = []
        var follow: [String: String] = [:]
        var settled = 0
        lazy var driver = StateMachineDriver<String>(
            runLoop: loop, tolerance: .zero, deadlineReached: "deadline",
            nextDeadline: { [unowned self] in deadline }, apply: { [unowned self] in apply($0) },
            settled: { [unowned self] in settled += 1 })

        private func apply(_ event: String) {
            seen.append("begin \(event)")
            if event == "deadline" { deadline = nil }
            if let next = follow[event] { driver.submit(next) }
            seen.append("end \(event)")
        }

        init() throws { loop = try RunLoop() }
    }

    @Test("An event that comes while effects run is applied after them, and all settle once")
    func queued() throws {
        let owner = try Owner()
        owner.follow = ["a": "b", "b": "c"]
        owner.driver.submit("a")
        #expect(owner.seen == ["begin a", "end a", "begin b", "end b", "begin c", "end c"])
        #expect(owner.settled == 1)
    }

    @Test("A result of the effect at hand comes before events that wait")
    func next() {
        var queue = EventQueue<String>()
        let begun = [queue.begin("a"), queue.begin("b"), queue.begin("a's result", isUrgent: true)]
        #expect(begun == [true, false, false], "the others are queued behind the first")
        var seen = [queue.next()]
        let isNew = queue.begin("b's result", isUrgent: true)
        #expect(!isNew)
        for _ in 0..<3 { seen.append(queue.next()) }
        #expect(seen == ["a's result", "b's result", "b", nil])
        let again = queue.begin("c")
        #expect(again, "drained, it can be begun again")
    }

    @Test("The deadline is an event; one that moved is met at its new time only, and a cancelled one never")
    func deadline() throws {
        let owner = try Owner()
        owner.deadline = BootClock.now().advanced(by: .seconds(3600))
        owner.driver.submit("far")
        owner.deadline = BootClock.now().advanced(by: .milliseconds(5))
        owner.driver.submit("near")
        for _ in 0..<1_000 where !owner.seen.contains("end deadline") {
            owner.loop.runOnce(timeout: .milliseconds(20))
        }
        #expect(owner.seen.count { $0 == "begin deadline" } == 1)
        owner.deadline = BootClock.now()
        owner.driver.submit("again")
        owner.driver.cancelTimer()
        owner.loop.runOnce(timeout: .milliseconds(20))
        #expect(owner.seen.count { $0 == "begin deadline" } == 1)
    }
}
