import Glibc
import Testing

@testable import RunLoop

@Suite struct TimerTests {
    @Test("Timers fire in the order of their deadlines, never before them")
    func order() throws {
        let loop = try RunLoop()
        var order: [Int] = []
        let start = loop.now
        var early = 0
        for number in [3, 1, 2, 0] {
            let deadline = start.advanced(by: .milliseconds(number * 3))
            loop.schedule(at: deadline, tolerance: .zero) {
                order.append(number)
                if loop.now < deadline { early += 1 }
                if order.count == 4 { loop.stop() }
            }
        }
        loop.run()
        #expect(order == [0, 1, 2, 3])
        #expect(early == 0)
    }

    @Test("A thousand timers with a tolerance of a fifth of their spread cost at most 12 wakeups")
    func coalescing() throws {
        let loop = try RunLoop()
        var random = SplitMix(state: 11)
        var fired = 0
        for _ in 0..<1_000 {
            let offset = Duration.nanoseconds(Int64(random.next() % 500_000_000))
            loop.schedule(at: loop.now.advanced(by: offset), tolerance: .milliseconds(100)) {
                fired += 1
                if fired == 1_000 { loop.stop() }
            }
        }
        loop.run()
        #expect(fired == 1_000)
        #expect(loop.statistics.caused == loop.statistics.byCause[.timer])
        #expect(loop.statistics.caused <= 12)
    }

    @Test("A timer that is cancelled after it was armed wakes nobody")
    func cancelledTimerCostsNoWakeup() throws {
        let loop = try RunLoop()
        // Once more where the machine was so slow that it fired before it could be cancelled.
        var hasFired = false
        var before: UInt64 = 0
        repeat {
            hasFired = false
            let timer = loop.schedule(at: loop.refreshNow().advanced(by: .milliseconds(20)), tolerance: .zero) {
                hasFired = true
            }
            loop.runOnce(timeout: .milliseconds(1))
            before = loop.statistics.caused
            loop.cancel(timer)
            loop.cancel(timer)
        } while hasFired
        loop.runOnce(timeout: .milliseconds(40))
        #expect(!hasFired)
        #expect(loop.statistics.caused == before)
    }

    @Test("An earlier timer that is scheduled later shortens the sleep")
    func earlierTimerRearms() throws {
        let loop = try RunLoop()
        loop.schedule(at: loop.now.advanced(by: .seconds(3_600)), tolerance: .zero) {}
        loop.runOnce(timeout: .milliseconds(1))
        var fired = false
        loop.schedule(at: loop.now.advanced(by: .milliseconds(2)), tolerance: .zero) { fired = true }
        loop.runOnce(timeout: nil)
        #expect(fired)
    }

    @Test("A loop that is awake for another reason fires what is due, long before its window ends")
    func firesWithinToleranceWhenAwake() throws {
        let loop = try RunLoop()
        let pair = SocketPair()
        _ = try loop.watch(pair.near, for: .read, cause: .test) { _ in pair.receive() }
        var fired = false
        loop.schedule(at: loop.now, tolerance: .seconds(3_600)) { fired = true }
        pair.send(1)
        loop.runOnce(timeout: nil)
        #expect(fired)
        #expect(loop.statistics.total == 0)
    }

    @Test("Of two timers that are due together, the first may cancel the second")
    func timerCancelsTimerOfTheSameTurn() throws {
        let loop = try RunLoop()
        var second: Timer?
        loop.schedule(at: loop.now, tolerance: .zero) { second.map(loop.cancel) }
        second = loop.schedule(at: loop.now, tolerance: .zero) { Issue.record("it was cancelled") }
        loop.runOnce(timeout: nil)
        loop.runOnce(timeout: .zero)
    }

    @Test("A timer that schedules itself for now fires once a turn")
    func timerThatReschedulesItself() throws {
        let loop = try RunLoop()
        var fired = 0
        func again() {
            fired += 1
            loop.schedule(at: BootClock.Instant(nanoseconds: 0), tolerance: .zero, again)
        }
        again()
        for _ in 0..<5 { loop.runOnce(timeout: nil) }
        #expect(fired == 6)
        #expect(loop.statistics.total == 0)
    }

    @Test("Far, negative and overflowing deadlines and tolerances saturate")
    func extremes() throws {
        let loop = try RunLoop()
        var fired = 0
        loop.schedule(at: .init(nanoseconds: .max), tolerance: .seconds(Int64.max)) { fired += 1 }
        loop.schedule(at: .init(nanoseconds: .min), tolerance: .seconds(-5)) { fired += 1 }
        loop.runOnce(timeout: .zero)
        loop.runOnce(timeout: .milliseconds(1))
        #expect(fired == 1)
        let start = BootClock.Instant(nanoseconds: 5)
        #expect(start.advanced(by: .seconds(Int64.max)).nanoseconds == .max)
        #expect(BootClock.Instant(nanoseconds: -5).advanced(by: .seconds(Int64.min)).nanoseconds == .min)
        #expect(BootClock.Instant(nanoseconds: .min).duration(to: .init(nanoseconds: .max)) == .nanoseconds(Int64.max))
        #expect(start.duration(to: .init(nanoseconds: 2)) == .nanoseconds(-3))
        #expect(start.advanced(by: .nanoseconds(-6)).nanoseconds == -1)
    }

    @Test("A loop that shall not wake the machine does not ask for an alarm clock")
    func withoutAlarmClock() throws {
        let loop = try RunLoop(wakingFromSuspend: false)
        #expect(!loop.wakesFromSuspend)
        var fired = false
        loop.schedule(at: loop.now.advanced(by: .milliseconds(1)), tolerance: .zero) { fired = true }
        loop.runOnce(timeout: nil)
        #expect(fired)
    }
}

@Suite("Timers that let a suspended machine sleep") struct QuietTimerTests {
    @Test("They are on the clock that does not wake it, fire in order with the others, and can be cancelled")
    func quiet() throws {
        let loop = try RunLoop()
        var order: [String] = []
        let start = loop.now
        loop.schedule(at: start.advanced(by: .milliseconds(4)), tolerance: .zero, wakingFromSuspend: false) {
            order.append("quiet")
        }
        loop.schedule(at: start.advanced(by: .milliseconds(8)), tolerance: .zero) { order.append("waking") }
        let cancelled = loop.schedule(at: start, tolerance: .zero, wakingFromSuspend: false) { order.append("never") }
        loop.cancel(cancelled)
        while order.count < 2 { loop.runOnce(timeout: .seconds(20)) }
        #expect(order == ["quiet", "waking"])
        #expect(loop.prepareToWait())
    }

    @Test("A loop whose only timers are quiet has no alarm set")
    func noAlarm() throws {
        let loop = try RunLoop()
        guard loop.wakesFromSuspend else { return }
        loop.schedule(at: loop.now.advanced(by: .seconds(3_600)), tolerance: .zero, wakingFromSuspend: false) {}
        #expect(loop.prepareToWait())
        #expect(loop.armedClocks == [CLOCK_BOOTTIME])
        loop.schedule(at: loop.now.advanced(by: .seconds(3_600)), tolerance: .zero) {}
        #expect(loop.prepareToWait())
        #expect(loop.armedClocks == [CLOCK_BOOTTIME_ALARM, CLOCK_BOOTTIME])
    }
}
