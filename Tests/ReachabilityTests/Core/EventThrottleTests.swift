import RunLoop
import Testing

@testable import Reachability

@Suite("Event throttle")
struct EventThrottleTests {
    private func at(_ milliseconds: Int64) -> BootClock.Instant {
        BootClock.Instant(nanoseconds: milliseconds * 1_000_000)
    }

    private func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    }

    @Test("what changes twice a second costs no rest, and so no timer")
    func steady() {
        var throttle = EventThrottle()
        for number in 0..<100 { #expect(throttle.handledBatch(isChange: true, at: at(Int64(number) * 500)) == nil) }
        #expect(throttle.rests == 0)
    }

    @Test("three batches at once cost no rest, the fourth does")
    func burst() {
        var throttle = EventThrottle()
        let batches = (0..<4).map { throttle.handledBatch(isChange: true, at: at($0)) }
        #expect(batches == [nil, nil, nil, .milliseconds(50)])
    }

    @Test("a storm is rested from, longer each time, up to a second; some two batches a second are handled")
    func storm() {
        var throttle = EventThrottle()
        var now: Int64 = 0
        var batches = 0
        var rests: [Int64] = []
        while now < 20_000 {
            now += 1
            batches += 1
            guard let rest = throttle.handledBatch(isChange: true, at: at(now)) else { continue }
            rests.append(milliseconds(rest))
            now += milliseconds(rest)
        }
        #expect(rests.prefix(6) == [50, 100, 200, 400, 800, 1_000])
        #expect(rests.dropFirst(5).allSatisfy { $0 == 1_000 })
        #expect(batches < 60)
    }

    @Test("after two quiet seconds a whole burst is handled at once again, and the rests are short again")
    func quiet() {
        var throttle = EventThrottle()
        for _ in 0..<20 { _ = throttle.handledBatch(isChange: true, at: at(0)) }
        #expect(throttle.handledBatch(isChange: true, at: at(1_000)) == nil)
        #expect(throttle.handledBatch(isChange: true, at: at(1_001)) != nil)
        let quiet: Int64 = 1_001 + 2_000
        let batches = (0..<4).map { throttle.handledBatch(isChange: true, at: at(quiet + $0)) }
        #expect(batches == [nil, nil, nil, .milliseconds(50)])
    }

    @Test("a batch a third of a second is told at once at first, and later in less than a second")
    func slowStorm() {
        var throttle = EventThrottle()
        var restEnds: Int64 = 0
        var worst: Int64 = 0
        for number in 0..<200 {
            let came = Int64(number) * 333
            guard came >= restEnds else { continue }
            guard let rest = throttle.handledBatch(isChange: true, at: at(came)) else { continue }
            restEnds = came + milliseconds(rest)
            worst = max(worst, milliseconds(rest))
            if number < 6 { Issue.record("a rest after \(number) batches") }
        }
        #expect(worst <= 1_000)
    }

    @Test("what changes nothing uses up nothing of what changes something")
    func idle() {
        var throttle = EventThrottle()
        for number in 0..<1_000 { _ = throttle.handledBatch(isChange: false, at: at(Int64(number))) }
        let batches = (0..<4).map { throttle.handledBatch(isChange: true, at: at(1_000 + $0)) }
        #expect(batches == [nil, nil, nil, .milliseconds(50)])
    }

    @Test("20 batches a second that change nothing cost no rest; 1,000 cost short ones, and are bounded")
    func idleStorm() {
        var throttle = EventThrottle()
        for number in 0..<1_000 {
            #expect(throttle.handledBatch(isChange: false, at: at(Int64(number) * 50)) == nil)
        }
        throttle = EventThrottle()
        var now: Int64 = 0
        var batches = 0
        while now < 20_000 {
            now += 1
            batches += 1
            guard let rest = throttle.handledBatch(isChange: false, at: at(now)) else { continue }
            #expect(rest == .milliseconds(50))
            now += milliseconds(rest)
        }
        #expect(batches < 550)
    }

    @Test("dear batches that change nothing take at most a twentieth of the time", arguments: [3, 20, 90] as [Int64])
    func dear(_ took: Int64) {
        var throttle = EventThrottle()
        var now: Int64 = 0
        var batches: Int64 = 0
        while now < 100_000 {
            now += took
            batches += 1
            let rest = throttle.handledBatch(isChange: false, took: .milliseconds(took), at: at(now))
            #expect(rest ?? .zero <= .seconds(1))
            now += rest.map(milliseconds) ?? 0
        }
        // A burst of a second's worth at first; a rest never lasts longer than a second.
        #expect(batches * took < 100_000 / 20 + 100 + (took > 50 ? 5_000 : 0))
    }
}
