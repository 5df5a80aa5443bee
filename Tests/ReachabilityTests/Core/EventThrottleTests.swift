import RunLoop
import Testing

@testable import Reachability

@Suite("Event throttle")
struct EventThrottleTests {
    private func at(_ milliseconds: Int64) -> BootClock.Instant {
        BootClock.Instant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("a lone batch costs no rest, and so no timer")
    func lone() {
        var throttle = EventThrottle()
        for second in 0..<10 {
            #expect(throttle.handledBatch(at: at(Int64(second) * 2_000)) == nil)
        }
        #expect(throttle.rests == 0)
    }

    @Test("a storm is rested from, longer each time, up to a second")
    func storm() {
        var throttle = EventThrottle()
        var now: Int64 = 0
        var rests: [Duration] = []
        while rests.count < 8 {
            now += 1
            guard let rest = throttle.handledBatch(at: at(now)) else { continue }
            rests.append(rest)
            now += Int64(rest.components.seconds * 1_000 + rest.components.attoseconds / 1_000_000_000_000_000)
        }
        #expect(rests == [50, 100, 200, 400, 800, 1_000, 1_000, 1_000].map { .milliseconds($0) })
        #expect(throttle.rests == 8)
    }

    @Test("the first batches after a quiet time are handled at once again")
    func quiet() {
        var throttle = EventThrottle()
        for _ in 0..<20 { _ = throttle.handledBatch(at: at(0)) }
        // The last rest was 1 s; a second after it is quiet.
        #expect(throttle.handledBatch(at: at(1_900)) != nil)
        #expect(throttle.handledBatch(at: at(1_900 + 2_000)) == nil)
        #expect(throttle.handledBatch(at: at(1_900 + 2_001)) == nil)
        #expect(throttle.handledBatch(at: at(1_900 + 2_002)) == nil)
        #expect(throttle.handledBatch(at: at(1_900 + 2_003)) == .milliseconds(50))
    }
}
