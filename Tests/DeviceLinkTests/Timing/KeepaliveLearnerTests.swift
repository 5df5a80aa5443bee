import DeviceLink
import RingwakeCore
import Testing

/// Single inputs of the learner.
struct KeepaliveLearnerTests {
    private let home = NetworkKey([1])
    private let office = NetworkKey([2])
    private var learner = KeepaliveLearner(capacity: 3)
    private var now = BootInstant.at(.zero)

    private mutating func connect(_ network: NetworkKey? = nil, kind: NetworkKind = .wiFi) -> Duration {
        learner.linkEstablished(on: network ?? home, kind: kind, at: now)
    }

    /// Good periods, in each of which a device asks whether it is to probe.
    ///
    /// - Returns: the probe that the last one starts.
    private mutating func goodPeriods(_ count: Int, idle: Duration) -> Duration? {
        var probe: Duration?
        for _ in 0..<count {
            now = now.advanced(by: idle)
            _ = learner.provenAlive(on: home, afterIdle: idle, at: now)
            probe = learner.startProbe(on: home, at: now)
        }
        return probe
    }

    private mutating func die(
        idle: Duration, interval: Duration, pathChanged: Bool = false
    ) -> Duration? {
        now = now.advanced(by: idle)
        return learner.foundDead(
            on: home, afterIdle: idle, interval: interval, pathChanged: pathChanged, at: now)
    }

    @Test("An unknown network starts at 4 min, and the fifth good period starts a probe of 5 min")
    mutating func growth() {
        #expect(connect() == .minutes(4))
        #expect(learner.nextProbe(on: home, at: now) == .after(.minutes(20)))
        #expect(goodPeriods(4, idle: .minutes(4)) == nil)
        #expect(learner.nextProbe(on: home, at: now) == .after(.minutes(4)))
        #expect(goodPeriods(1, idle: .minutes(4)) == .minutes(5))
        #expect(learner.nextProbe(on: home, at: now) == .after(.minutes(11)), "another device asks")
        #expect(goodPeriods(1, idle: .minutes(4)) == nil)
        #expect(learner.interval(on: home) == .minutes(4))
        #expect(learner.probeEnded(on: home, .survived(.minutes(5)), at: now) == .minutes(5))
        #expect(learner.nextProbe(on: home, at: now) == .after(.minutes(25)))
    }

    @Test("Idle times shorter than the interval are no good periods")
    mutating func shortPeriods() {
        _ = connect()
        #expect(goodPeriods(20, idle: .minutes(3)) == nil)
    }

    @Test("Good periods of several devices that overlap count once")
    mutating func overlappingGoodPeriods() {
        _ = connect()
        for _ in 0..<4 {
            now = now.advanced(by: .minutes(4))
            for second in 0..<10 {
                let time = now.advanced(by: .seconds(second * 20))
                _ = learner.provenAlive(on: home, afterIdle: .minutes(4), at: time)
                #expect(learner.startProbe(on: home, at: time) == nil)
            }
        }
    }

    @Test("One dead link shortens the interval to less than half; the second one proves the longer time")
    mutating func twoFailures() {
        _ = connect()
        #expect(die(idle: .seconds(250), interval: .minutes(4)) == .seconds(100))
        #expect(learner.failure(on: home) == nil)
        #expect(learner.status(of: home) == .searching)
        #expect(die(idle: .seconds(110), interval: .seconds(100)) == .seconds(45))
        #expect(learner.failure(on: home) == .minutes(4))
    }

    @Test("After one dead link a probe finds out whether the NAT was the cause")
    mutating func doubt() {
        _ = connect()
        _ = die(idle: .minutes(4), interval: .minutes(4))
        #expect(goodPeriods(4, idle: .seconds(100)) == nil)
        #expect(goodPeriods(1, idle: .seconds(100)) == .minutes(4))
        #expect(learner.probeEnded(on: home, .survived(.minutes(4)), at: now) == .minutes(4))
        #expect(learner.failure(on: home) == nil)
        // It was an accident, and so the next one is a first one again.
        _ = die(idle: .minutes(4), interval: .minutes(4))
        #expect(learner.failure(on: home) == nil)
        #expect(goodPeriods(5, idle: .seconds(100)) == .minutes(4))
        #expect(learner.probeEnded(on: home, .died(.minutes(4)), at: now) == .seconds(100))
        #expect(learner.failure(on: home) == .minutes(4))
        #expect(goodPeriods(5, idle: .seconds(100)) == .seconds(160))
    }

    @Test("Where nobody probes, links try the time that failed once again after a day, and only once")
    mutating func withoutProbes() {
        _ = connect()
        _ = die(idle: .minutes(4), interval: .minutes(4))
        for _ in 0..<860 {
            now = now.advanced(by: .seconds(100))
            #expect(learner.provenAlive(on: home, afterIdle: .seconds(100), at: now) == .seconds(100))
        }
        for _ in 0..<5 {
            now = now.advanced(by: .seconds(100))
            _ = learner.provenAlive(on: home, afterIdle: .seconds(100), at: now)
        }
        #expect(connect() == .minutes(4))
        #expect(die(idle: .minutes(4), interval: .minutes(4)) == .seconds(100))
        #expect(learner.failure(on: home) == .minutes(4))
        for _ in 0..<3000 {
            now = now.advanced(by: .seconds(100))
            #expect(learner.provenAlive(on: home, afterIdle: .seconds(100), at: now) == .seconds(100))
        }
    }

    @Test("A failure while the path changed does not count")
    mutating func pathChanged() {
        _ = connect()
        for _ in 0..<10 {
            #expect(die(idle: .seconds(250), interval: .minutes(4), pathChanged: true) == .minutes(4))
        }
    }

    @Test("Devices that lose their links in the same period are one failure")
    mutating func restartedNAT() {
        _ = connect()
        now = now.advanced(by: .minutes(10))
        for second in 0..<100 {
            let interval = learner.foundDead(
                on: home, afterIdle: .seconds(250), interval: .minutes(4), pathChanged: false,
                at: now.advanced(by: .seconds(second)))
            #expect(interval == .seconds(100))
        }
        #expect(learner.failure(on: home) == nil)
    }

    @Test("A device that fails each time lowers the interval, however many others are fine")
    mutating func minority() {
        _ = connect()
        for interval in [240, 100] as [Int64] {
            now = now.advanced(by: .seconds(interval))
            for _ in 0..<50 { _ = learner.provenAlive(on: home, afterIdle: .seconds(interval), at: now) }
            _ = learner.foundDead(
                on: home, afterIdle: .seconds(interval), interval: .seconds(interval), pathChanged: false, at: now)
        }
        #expect(learner.interval(on: home) == .seconds(45))
    }

    @Test("Five good periods after no shorter time excuse a dead link; four do not", arguments: [4, 5])
    mutating func excusedFailure(_ periods: Int) {
        learner = KeepaliveLearner(bounds: KeepaliveBounds(start: .seconds(45)))
        _ = connect()
        _ = die(idle: .seconds(45), interval: .seconds(45))
        _ = goodPeriods(periods, idle: .seconds(45))
        #expect(die(idle: .seconds(45), interval: .seconds(45)) == .seconds(45))
        #expect(learner.status(of: home) == (periods == 5 ? .searching : .belowFloor))
    }

    @Test("A link of an earlier, longer interval that dies does not lower the interval again")
    mutating func oldLink() {
        _ = connect()
        for _ in 0..<4 {
            #expect(die(idle: .minutes(4), interval: .minutes(4)) == .seconds(100))
        }
        #expect(learner.failure(on: home) == nil)
    }

    @Test("Links that die within the floor's time have another cause than the interval")
    mutating func shortDeaths() {
        _ = connect()
        for _ in 0..<10 { #expect(die(idle: .seconds(30), interval: .minutes(4)) == .minutes(4)) }
    }

    @Test("Where every link dies, the second one brings the floor, and the fourth brings the status")
    mutating func hopeless() {
        _ = connect()
        var seen: [Duration] = []
        for _ in 0..<4 {
            #expect(learner.status(of: home) == .searching)
            let interval = learner.interval(on: home) ?? .zero
            _ = die(idle: interval, interval: interval)
            seen.append(learner.interval(on: home) ?? .zero)
        }
        #expect(seen == [.seconds(100), .seconds(45), .seconds(45), .seconds(45)])
        #expect(learner.status(of: home) == .belowFloor)
        #expect(learner.failure(on: home) == .seconds(45))
        _ = goodPeriods(5, idle: .seconds(45))
        #expect(learner.failure(on: home) == nil)
    }

    @Test("After a probe died, only less is tried for a day; then the limit once, and a survivor lifts it")
    mutating func hold() {
        _ = connect()
        #expect(goodPeriods(5, idle: .minutes(4)) == .seconds(300))
        _ = learner.probeEnded(on: home, .died(.seconds(300)), at: now)
        #expect(goodPeriods(5, idle: .minutes(4)) == .seconds(280))
        _ = learner.probeEnded(on: home, .survived(.seconds(280)), at: now)
        #expect(learner.status(of: home) == .settled)
        #expect(goodPeriods(250, idle: .seconds(280)) == nil)
        now = now.advanced(by: .hours(6))
        #expect(goodPeriods(1, idle: .seconds(280)) == .seconds(300))
        #expect(learner.probeEnded(on: home, .survived(.seconds(300)), at: now) == .seconds(300))
        #expect(learner.status(of: home) == .searching)
    }

    @Test("A probe that died before its time, or survived less, has no result and pauses probing for an hour")
    mutating func voidProbes() {
        _ = connect()
        _ = goodPeriods(4, idle: .minutes(4))
        for outcome in [KeepaliveLearner.ProbeOutcome.died(.seconds(200)), .survived(.seconds(200)), .void] {
            now = now.advanced(by: .days(1))
            #expect(goodPeriods(1, idle: .minutes(4)) == .seconds(300))
            #expect(learner.probeEnded(on: home, outcome, at: now) == .minutes(4))
            #expect(goodPeriods(14, idle: .minutes(4)) == nil)
            #expect(learner.status(of: home) == .searching)
        }
    }

    @Test("A probe that is never reported does not block the next one")
    mutating func lostProbe() {
        _ = connect()
        #expect(goodPeriods(5, idle: .minutes(4)) == .seconds(300))
        var probes = 0
        for _ in 0..<30 where goodPeriods(1, idle: .minutes(4)) != nil { probes += 1 }
        #expect(probes == 1)
    }

    @Test("The ceiling follows the kind of the network")
    mutating func kindChanges() {
        learner = KeepaliveLearner(.init(entries: [entry(interval: 1600)]), at: now) ?? KeepaliveLearner()
        #expect(connect(kind: .cellular) == .seconds(1600))
        #expect(connect(kind: .wiFi) == .minutes(15))
    }

    @Test("After a probe without a result the next one is due in an hour, with all periods good")
    mutating func pause() {
        _ = connect()
        _ = goodPeriods(5, idle: .minutes(4))
        _ = learner.probeEnded(on: home, .void, at: now)
        #expect(learner.nextProbe(on: home, at: now) == .after(.hours(1)))
        now = now.advanced(by: .hours(1))
        #expect(learner.nextProbe(on: home, at: now) == .now(.minutes(5)))
    }

    @Test("No probe is due at the ceiling, on a network that cannot be held, or on an unknown one; limits have holds")
    mutating func noProbe() throws {
        #expect(learner.nextProbe(on: home, at: now) == .never)
        let hold = 1000
        for (interval, limit, next) in [
            (900, nil, .never), (45, 45, .never), (280, 300, .after(.minutes(24) - .seconds(40))),
        ] as [(Int64, Int64?, KeepaliveLearner.NextProbe)] {
            let entry = entry(kind: "wifi", interval: interval, limit: limit, hold: Int64(hold))
            var learner = try #require(KeepaliveLearner(.init(entries: [entry]), at: now))
            _ = learner.linkEstablished(on: home, kind: .wiFi, at: now)
            #expect(learner.nextProbe(on: home, at: now) == next, "\(interval)")
            #expect(learner.startProbe(on: home, at: now) == nil)
            #expect(learner.failure(on: home) == limit.map { .seconds($0) })
            #expect(learner.longest(on: home) == .minutes(15))
        }
    }

    @Test("A gateway may have other bounds; what contradicts the shortest interval gives way")
    mutating func otherBounds() {
        let bounds = KeepaliveBounds(start: .seconds(6), shortest: .seconds(5), longest: .seconds(12))
        learner = KeepaliveLearner(bounds: bounds)
        #expect(connect(kind: .cellular) == .seconds(6))
        #expect(goodPeriods(5, idle: .seconds(6)) == .seconds(12))
        _ = learner.probeEnded(on: home, .died(.seconds(12)), at: now)
        #expect(learner.interval(on: home) == .seconds(6) && learner.status(of: home) == .settled)
        for _ in 0..<2 { _ = die(idle: .seconds(6), interval: .seconds(6)) }
        #expect(learner.interval(on: home) == .seconds(5))
        let odd = KeepaliveBounds(start: .seconds(6), shortest: .seconds(50), longest: .seconds(12))
        learner = KeepaliveLearner(bounds: odd)
        #expect(connect(kind: .cellular) == .seconds(50))
        #expect(learner.longest(on: home) == .seconds(50))
    }

    // MARK: - The table

    @Test("A full table forgets the network that was used longest ago")
    mutating func capacity() {
        for byte in [1, 2, 3] as [UInt8] { _ = connect(NetworkKey([byte])) }
        _ = learner.provenAlive(on: home, afterIdle: .minutes(4), at: now)
        _ = connect(NetworkKey([4]))
        #expect(learner.count == 3)
        #expect(learner.interval(on: home) != nil)
        #expect(learner.interval(on: office) == nil)
        #expect(learner.provenAlive(on: office, afterIdle: .minutes(4), at: now) == nil)
    }

    @Test("A network is forgotten 7 days after its last use")
    mutating func retention() {
        _ = connect()
        _ = die(idle: .minutes(4), interval: .minutes(4))
        now = now.advanced(by: .days(7) - .seconds(1))
        #expect(connect() == .seconds(100))
        now = now.advanced(by: .days(7))
        #expect(learner.snapshot(at: now).entries.isEmpty)
        #expect(connect() == .minutes(4))
    }

    @Test("A restored table has the same intervals, limits, holds and order of use")
    mutating func restore() throws {
        _ = connect(kind: .cellular)
        _ = die(idle: .minutes(4), interval: .minutes(4))
        _ = die(idle: .seconds(100), interval: .seconds(100))
        now = now.advanced(by: .seconds(10))
        _ = connect(office)
        let saved = learner.snapshot(at: now)
        #expect(saved.entries.map(\.network) == ["02", "01"])
        #expect(saved.entries.map(\.limit) == [nil, 240])
        #expect(saved.entries.map(\.age) == [0, 10])
        let later = BootInstant.at(.seconds(3))
        var restored = try #require(KeepaliveLearner(saved, elapsed: .seconds(5), capacity: 2, at: later))
        #expect(restored.snapshot(at: later).entries.map(\.age) == [5, 15])
        #expect(restored.snapshot(at: later).entries.map(\.hold) == [0, saved.entries[1].hold - 5])
        #expect(restored.interval(on: home) == .seconds(45))
        #expect(restored.status(of: home) == .searching)
        _ = restored.linkEstablished(on: NetworkKey([9]), kind: .wiFi, at: later)
        #expect(restored.interval(on: home) == nil)
    }

    @Test("A restored table still doubts what failed once: a probe, or a day, finds out")
    mutating func restoredDoubt() throws {
        _ = connect()
        _ = die(idle: .minutes(4), interval: .minutes(4))
        now = now.advanced(by: .seconds(10))
        learner = try #require(KeepaliveLearner(learner.snapshot(at: now), elapsed: .days(1) - .seconds(600), at: now))
        #expect(learner.interval(on: home) == .seconds(100))
        #expect(goodPeriods(5, idle: .seconds(100)) == .minutes(4))
        _ = learner.probeEnded(on: home, .void, at: now)
        _ = goodPeriods(1, idle: .seconds(100))
        #expect(learner.interval(on: home) == .minutes(4), "a day is over")
    }

    @Test("A snapshot of another version is refused")
    func otherVersion() {
        #expect(KeepaliveLearner(.init(version: 2, entries: []), at: now) == nil)
    }

    @Test("Entries that make no sense are left out or brought into range")
    func badEntries() throws {
        let entries = [
            entry(network: "0"), entry(network: "xy"), entry(network: String(repeating: "00", count: 65)),
            entry(kind: "satellite"), entry(age: 7 * 86400),
            entry(network: "aa", interval: .max, limit: .max, hold: .max, failedRetries: .max, age: .min),
            entry(network: "bb", interval: .min, limit: .min, hold: .min, failedRetries: .min),
            entry(network: "cc", interval: 500, limit: 100, doubted: .max, doubtedAge: .min),
            entry(network: "dd", doubted: .min, doubtedAge: .max),
        ]
        var learner = try #require(KeepaliveLearner(.init(entries: entries), at: now))
        #expect(learner.count == 4)
        #expect(learner.interval(on: NetworkKey([0xAA])) == .minutes(28))
        #expect(learner.interval(on: NetworkKey([0xBB])) == .seconds(45))
        #expect(learner.status(of: NetworkKey([0xCC])) == .searching)
        for network in [0xAA, 0xBB, 0xCC, 0xDD].map({ NetworkKey([$0]) }) {
            for minute in 1..<500 {
                let time = now.advanced(by: .minutes(30 * minute))
                _ = learner.provenAlive(on: network, afterIdle: .minutes(30), at: time)
                _ = learner.probeEnded(on: network, .died(.minutes(30)), at: time)
            }
        }
        _ = learner.snapshot(at: now)
    }

    private func entry(
        network: String = "01", kind: String = "cellular", interval: Int64 = 240, limit: Int64? = nil,
        hold: Int64 = 0, failedRetries: Int = 0, age: Int64 = 0, doubted: Int64? = nil, doubtedAge: Int64? = nil
    ) -> KeepaliveSnapshot.Entry {
        KeepaliveSnapshot.Entry(
            network: network, kind: kind, interval: interval, limit: limit, hold: hold,
            failedRetries: failedRetries, age: age, doubted: doubted, doubtedAge: doubtedAge)
    }
}
