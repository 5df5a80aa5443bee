import Testing

@testable import RunLoop

/// Every timer in one array, searched from end to end: slow, and obviously right.
private struct NaiveTimers {
    struct Entry {
        let id: Int
        let deadline: Int64
        let latest: Int64
        let timer: Timer
    }
    var alive: [Entry] = []

    var nextWakeup: Int64? { alive.map(\.latest).min() }
    var nextDeadline: Int64? { alive.map(\.deadline).min() }

    mutating func takeDue(at now: Int64) -> [Int] {
        let due = alive.filter { $0.deadline <= now }
        alive.removeAll { $0.deadline <= now }
        return due.sorted { ($0.deadline, $0.id) < ($1.deadline, $1.id) }.map(\.id)
    }
}

@Suite struct TimerQueueTests {
    @Test("Random schedules behave as the naive model does", arguments: 1...40)
    func agreesWithNaiveModel(seed: UInt64) {
        var random = SplitMix(state: seed)
        var queue = TimerQueue()
        var naive = NaiveTimers()
        var fired: [Int] = []
        let record = Recorder()
        var now: Int64 = 0
        for id in 0..<2_000 {
            switch random.next() % 8 {
            case 0...3:
                let deadline = now + Int64(random.next() % 1_000) - 100
                let tolerance = Int64(random.next() % 4) * Int64(random.next() % 300)
                let timer = queue.insert(deadline: deadline, latest: deadline + tolerance) { record.ids.append(id) }
                naive.alive.append(.init(id: id, deadline: deadline, latest: deadline + tolerance, timer: timer))
            case 4...6 where !naive.alive.isEmpty:
                let index = Int(random.next() % UInt64(naive.alive.count))
                let taken = queue.take(naive.alive[index].timer)
                #expect(taken != nil)
                #expect(queue.take(naive.alive[index].timer) == nil)
                naive.alive.remove(at: index)
            default:
                now += Int64(random.next() % 400)
                for timer in queue.due(at: now) { queue.take(timer)?() }
                fired += naive.takeDue(at: now)
            }
            #expect(queue.count == naive.alive.count)
            #expect(queue.nextWakeup() == naive.nextWakeup)
            #expect(queue.nextDeadline() == naive.nextDeadline)
        }
        #expect(record.ids == fired)
        #expect(fired.count > 100)
    }

    @Test("A thousand timers over 5 s with 1 s of tolerance are met in the least number of wakeups")
    func stabsGreedily() {
        let second: Int64 = 1_000_000_000
        var queue = TimerQueue()
        var windows: [(from: Int64, to: Int64)] = []
        var random = SplitMix(state: 7)
        for _ in 0..<1_000 {
            let deadline = Int64(random.next() % UInt64(5 * second))
            windows.append((deadline, deadline + second))
            _ = queue.insert(deadline: deadline, latest: deadline + second) {}
        }
        var wakeups = 0
        while let time = queue.nextWakeup() {
            wakeups += 1
            for timer in queue.due(at: time) { _ = queue.take(timer) }
        }
        // The optimum: the largest set of windows of which no two overlap.
        var optimum = 0
        var end = Int64.min
        for window in windows.sorted(by: { $0.to < $1.to }) where window.from > end {
            optimum += 1
            end = window.to
        }
        #expect(wakeups == optimum)
        #expect(wakeups <= 12)
    }

    @Test("Timers that are cancelled again and again do not pile up in the heaps")
    func cancelledTimersAreForgotten() {
        var queue = TimerQueue()
        let kept = (0..<10).map { _ in queue.insert(deadline: 1, latest: 2) {} }
        for round in 0..<100_000 {
            let timer = queue.insert(deadline: Int64(round) + 1_000, latest: Int64(round) + 2_000) {}
            _ = queue.take(timer)
        }
        #expect(queue.count == kept.count)
        #expect(queue.entryCount < 200)
    }

    @Test("Timers that all fire in time do not pile up in the heap of window ends")
    func firedTimersAreForgotten() {
        var queue = TimerQueue()
        for round in 0..<10_000 {
            _ = queue.insert(deadline: Int64(round), latest: .max) {}
            for timer in queue.due(at: Int64(round)) { _ = queue.take(timer) }
        }
        #expect(queue.count == 0)
        #expect(queue.entryCount < 200)
    }
}

/// A reference, so that the callbacks under test may write to it.
final class Recorder {
    var ids: [Int] = []
}

/// A small generator with a seed: the same schedule in each run.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
