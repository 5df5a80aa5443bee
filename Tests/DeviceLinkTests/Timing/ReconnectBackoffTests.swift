import DeviceLink
import RingwakeCore
import Testing

/// When a device reconnects. `highest` draws the limit of each wait, `lowest` draws zero.
struct ReconnectBackoffTests {
    private var highest = ConstantRandom.highest
    private var lowest = ConstantRandom.lowest
    private var backoff = ReconnectBackoff(hasPath: true, at: .at(.zero))
    private var now = BootInstant.at(.zero)

    /// Lets the time pass until the next attempt; returns how long that took.
    private mutating func untilAttempt() throws -> Duration {
        let deadline = try #require(backoff.nextDeadline)
        let wait = now.duration(to: deadline)
        #expect(backoff.advance(to: deadline.advanced(by: .nanoseconds(-1))) == [])
        now = deadline
        #expect(backoff.advance(to: now) == [.connect])
        #expect(backoff.nextDeadline == nil)
        return wait
    }

    private mutating func link() throws {
        _ = try untilAttempt()
        backoff.established(at: now)
    }

    private mutating func fail(retryAfter: Duration? = nil) {
        #expect(backoff.attemptFailed(retryAfter: retryAfter, at: now, using: &highest) == [])
    }

    @Test("Waits double from 1 s to 15 min")
    mutating func doubling() throws {
        #expect(try untilAttempt() == .zero)
        var waits: [Int64] = []
        for _ in 0..<13 {
            fail()
            waits.append(try untilAttempt().components.seconds)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
    }

    @Test("Waits are spread evenly from zero to their limit")
    mutating func fullJitter() throws {
        var random = TimingRandom(seed: 7)
        _ = try untilAttempt()
        for _ in 0..<5 {
            fail()
            _ = try untilAttempt()
        }
        var counts = [0, 0, 0, 0]
        for _ in 0..<4000 {
            var copy = backoff
            _ = copy.attemptFailed(at: now, using: &random)
            let wait = now.duration(to: try #require(copy.nextDeadline))
            #expect(wait >= .zero && wait <= .seconds(32))
            counts[min(Int(wait.components.seconds) / 8, 3)] += 1
        }
        #expect(counts.allSatisfy { (900...1100).contains($0) })
    }

    @Test("Without a path there is no attempt and no timer; with one the attempt that is due starts at once")
    mutating func noPath() {
        backoff = ReconnectBackoff(hasPath: false, at: now)
        #expect(backoff.nextDeadline == nil)
        #expect(backoff.advance(to: .at(.hours(1))) == [])
        #expect(backoff.pathChanged(hasPath: true, at: .at(.hours(1)), using: &highest) == [.connect])
    }

    @Test("A path that is lost during an attempt ends it, and a path that comes and goes is no loop of attempts")
    mutating func flappingPath() throws {
        _ = try untilAttempt()
        var attempts = 0
        for second in 1...600 {
            let time = BootInstant.at(.seconds(second))
            let actions = backoff.pathChanged(hasPath: second.isMultiple(of: 2), at: time, using: &highest)
            attempts += actions.count { $0 == .connect }
            attempts += backoff.advance(to: time).count
        }
        #expect(attempts <= 60)
        #expect(attempts >= 10)
    }

    @Test("A path change resets the back-off at most once a minute")
    mutating func pathReset() throws {
        _ = try untilAttempt()
        for _ in 0..<8 {
            fail()
            _ = try untilAttempt()
        }
        fail()
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &highest) == [])
        #expect(try untilAttempt() == .seconds(1))
        // The reset was a second ago. Attempts that fail during the next 30 s make the waits longer again.
        let lastReset = now.advanced(by: .seconds(-1))
        for _ in 0..<4 {
            fail()
            _ = try untilAttempt()
        }
        fail()
        let deadline = lastReset.advanced(by: .seconds(63))
        #expect(backoff.nextDeadline == deadline)
        #expect(backoff.pathChanged(hasPath: true, at: lastReset.advanced(by: .seconds(59)), using: &lowest) == [])
        #expect(backoff.nextDeadline == deadline)
        let minuteLater = lastReset.advanced(by: .seconds(60))
        #expect(backoff.pathChanged(hasPath: true, at: minuteLater, using: &lowest) == [.connect])
        #expect(backoff.state == .attempting)
    }

    @Test("A path change during an attempt abandons it and tries again on the new path")
    mutating func changeDuringAttempt() throws {
        _ = try untilAttempt()
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [.abandon, .connect])
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [])
    }

    @Test("A path change leaves a link alone")
    mutating func changeWithLink() throws {
        try link()
        #expect(backoff.pathChanged(hasPath: false, at: now, using: &lowest) == [])
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [])
        #expect(backoff.state == .linked(since: now))
    }

    @Test("An announced time is the limit of the wait, and a path change does not shorten it")
    mutating func announced() throws {
        try link()
        #expect(backoff.linkLost(retryAfter: .seconds(120), at: now, using: &highest) == [])
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [])
        #expect(try untilAttempt() == .seconds(120))
    }

    @Test("Announced times of zero, or below the back-off, do not shorten it; absurd ones are cut to an hour")
    mutating func badAnnouncements() throws {
        _ = try untilAttempt()
        for wait in [1, 2, 4] {
            fail(retryAfter: .zero)
            #expect(try untilAttempt() == .seconds(wait))
        }
        fail(retryAfter: .seconds(-5))
        #expect(try untilAttempt() == .seconds(8))
        fail(retryAfter: .seconds(Int64.max))
        #expect(try untilAttempt() == .hours(1))
    }

    @Test("A thousand devices that are told 100 s come back over the 100 s")
    mutating func herd() throws {
        var random = TimingRandom(seed: 3)
        try link()
        var counts = Array(repeating: 0, count: 10)
        for _ in 0..<1000 {
            var device = backoff
            _ = device.linkLost(retryAfter: .seconds(100), at: now, using: &random)
            counts[min(Int(now.duration(to: try #require(device.nextDeadline)).components.seconds) / 10, 9)] += 1
        }
        #expect(counts.allSatisfy { (60...140).contains($0) })
    }

    @Test("A link that lasts a minute ends the back-off; a gateway that accepts and closes does not")
    mutating func stableLink() throws {
        for wait in [0, 1, 2, 4] {
            #expect(try untilAttempt() == .seconds(wait))
            backoff.established(at: now)
            _ = backoff.linkLost(at: now, using: &highest)
        }
        #expect(try untilAttempt() == .seconds(8))
        backoff.established(at: now)
        now = now.advanced(by: .seconds(60))
        _ = backoff.linkLost(at: now, using: &highest)
        #expect(try untilAttempt() == .seconds(1))
    }

    @Test("After a take-over the device waits 15 s, then up to 30 s; the third one in 10 minutes stops it")
    mutating func takeOvers() throws {
        try link()
        #expect(backoff.takenOver(at: now, using: &highest) == [])
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [])
        #expect(try untilAttempt() == .seconds(15))
        backoff.established(at: now)
        _ = backoff.takenOver(at: now, using: &highest)
        #expect(try untilAttempt() == .seconds(30))
        backoff.established(at: now)
        #expect(backoff.takenOver(at: now, using: &highest) == [.report(.takenOver)])
        #expect(backoff.state == .stopped)
        #expect(backoff.nextDeadline == nil)
        #expect(backoff.pathChanged(hasPath: true, at: .at(.days(1)), using: &lowest) == [])
        #expect(backoff.advance(to: .at(.days(2))) == [])
    }

    @Test("Take-overs that are 10 minutes old do not count")
    mutating func oldTakeOvers() throws {
        for _ in 0..<10 {
            try link()
            now = now.advanced(by: .minutes(5))
            #expect(backoff.takenOver(at: now, using: &highest) == [])
        }
    }

    @Test("A revoked device says so once and tries once a day, whatever its path does, until it is accepted")
    mutating func revoked() throws {
        _ = try untilAttempt()
        #expect(backoff.revoked(at: now, using: &lowest) == [.report(.revoked)])
        #expect(backoff.pathChanged(hasPath: true, at: now, using: &lowest) == [])
        #expect(try untilAttempt() == .days(1))
        #expect(backoff.revoked(at: now, using: &highest) == [])
        #expect(try untilAttempt() == .days(1) + .minutes(15))
        _ = backoff.attemptFailed(at: now, using: &lowest)
        #expect(try untilAttempt() == .days(1))
        backoff.established(at: now)
        _ = backoff.linkLost(at: now, using: &highest)
        #expect(try untilAttempt() == .seconds(1))
        #expect(backoff.revoked(at: now, using: &lowest) == [.report(.revoked)])
    }

    @Test("Results that come late change nothing")
    mutating func lateResults() throws {
        let waiting = backoff
        backoff.established(at: now)
        #expect(backoff.attemptFailed(at: now, using: &highest) == [])
        #expect(backoff.linkLost(at: now, using: &highest) == [])
        #expect(backoff.takenOver(at: now, using: &highest) == [])
        #expect(backoff.revoked(at: now, using: &highest) == [])
        #expect(backoff == waiting)
        try link()
        let linked = backoff
        #expect(backoff.attemptFailed(at: now, using: &highest) == [])
        #expect(backoff == linked)
    }
}
