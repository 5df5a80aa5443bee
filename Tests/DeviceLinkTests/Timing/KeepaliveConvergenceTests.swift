import DeviceLink
import RingwakeCore
import Testing

/// The learner behind simulated NATs.
struct KeepaliveConvergenceTests {
    @Test("A NAT that forgets within the floor keeps the interval at the floor, and the status says so")
    func belowFloor() {
        var nat = SimulatedNAT(timeout: .seconds(20))
        nat.run(for: .hours(2))
        #expect(nat.interval == .seconds(45))
        #expect(nat.status == .belowFloor)
        #expect(nat.probes.isEmpty)
    }

    @Test("A NAT of 60 s is learned with two lost links, and the interval then stays below it")
    func oneMinute() {
        var nat = SimulatedNAT(timeout: .seconds(60))
        nat.run(for: .hours(2))
        #expect(nat.interval == .seconds(45))
        #expect(nat.status == .settled)
        #expect(nat.failures == 2)
        #expect(nat.lossWindows.reduce(.zero, +) <= .minutes(4))
        let failures = nat.failures
        nat.run(for: .days(7))
        #expect(nat.failures == failures)
        #expect(nat.interval < .seconds(60))
        #expect(nat.probes.count <= 6)
    }

    @Test("A NAT of 5 min never loses a link, and few probes find its limit")
    func fiveMinutes() {
        var nat = SimulatedNAT(timeout: .minutes(5))
        nat.run(for: .hours(8))
        #expect(nat.failures == 0)
        #expect(nat.interval == .seconds(280))
        #expect(nat.status == .settled)
        #expect(nat.probes == [.seconds(300), .seconds(280)])
        nat.run(for: .days(30))
        #expect(nat.failures == 0)
        #expect(nat.interval == .seconds(280))
        #expect(nat.probes.count <= 2 + 7)
    }

    @Test("A NAT of 30 min lets a cellular link grow to the ceiling, by one probe for each minute")
    func thirtyMinutes() {
        var nat = SimulatedNAT(timeout: .minutes(30))
        nat.run(for: .days(3))
        #expect(nat.failures == 0)
        #expect(nat.interval == .minutes(28))
        #expect(nat.status == .atCeiling)
        #expect(nat.probes.count == 24)
        nat.run(for: .days(30))
        #expect(nat.probes.count == 24)
    }

    @Test("Without a limit the interval grows to the ceiling of the kind", arguments: NetworkKind.allCases)
    func unlimited(_ kind: NetworkKind) {
        var nat = SimulatedNAT(timeout: nil, kind: kind)
        nat.run(for: .days(4))
        #expect(nat.interval == kind.longestKeepalive)
        #expect(nat.status == .atCeiling)
        #expect(nat.failures == 0)
    }

    @Test("Any NAT, any pushes, any number of devices: it settles below the time-out, and nothing oscillates")
    func anyNAT() {
        for seed in 0..<60 as Range<UInt64> {
            var random = TimingRandom(seed: seed)
            let timeout = Duration.seconds(Int64.random(in: 46...2400, using: &random))
            let kind = NetworkKind.allCases.randomElement(using: &random) ?? .wiFi
            let devices = Int.random(in: 1...5, using: &random)
            var nat = SimulatedNAT(timeout: timeout, kind: kind, devices: devices, seed: seed)
            nat.pushes = Double.random(in: 0...0.4, using: &random)
            nat.run(for: .days(12))
            let settled = nat.interval
            #expect(settled < timeout, "seed \(seed)")
            #expect(settled >= min(timeout - .seconds(41), kind.longestKeepalive), "seed \(seed)")
            #expect(nat.status != .searching && nat.status != .belowFloor, "seed \(seed)")
            // Two links for each fall of one device, and what the other devices lose in the same period.
            #expect(nat.failures <= 10 * devices, "seed \(seed)")
            #expect(nat.lossWindows.allSatisfy { $0 <= .seconds(240 - 45 + 10) }, "seed \(seed)")
            #expect(nat.probes.count <= 36, "seed \(seed)")
            let (failures, probes) = (nat.failures, nat.probes.count)
            nat.run(for: .days(28))
            #expect(nat.failures == failures, "seed \(seed)")
            #expect(nat.interval == settled, "seed \(seed)")
            #expect(nat.probes.count - probes <= 5, "seed \(seed)")
        }
    }

    @Test("A NAT that becomes stricter costs a few links; one that becomes more patient is noticed within days")
    func changingNAT() {
        var nat = SimulatedNAT(timeout: .minutes(20), kind: .wiFi)
        nat.run(for: .days(3))
        #expect(nat.interval == .minutes(15))
        nat.timeout = .minutes(4)
        nat.run(for: .days(1))
        #expect(nat.interval < .minutes(4))
        #expect(nat.failures <= 12)
        let failures = nat.failures
        nat.timeout = .minutes(20)
        nat.run(for: .days(10))
        #expect(nat.interval == .minutes(15))
        #expect(nat.failures == failures)
    }

    @Test("One accident in 50 periods costs little: the interval is long nearly all the time")
    func accidents() {
        var total = Duration.zero
        for seed in 0..<20 as Range<UInt64> {
            var nat = SimulatedNAT(timeout: nil, kind: .wiFi, seed: seed)
            nat.accidents = 0.02
            nat.run(for: .days(2))
            var sum = Duration.zero
            for _ in 0..<(12 * 24) {
                nat.run(for: .hours(1))
                sum += nat.interval
            }
            #expect(sum / (12 * 24) >= .minutes(10), "seed \(seed)")
            total += sum / (12 * 24)
        }
        #expect(total / 20 >= .minutes(13), "\(total / 20)")
    }
}
