import DeviceLink
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@MainActor @Suite("How often links are kept alive") struct LinkKeepAliveTests {
    let device: DeviceID
    let neighbour: DeviceID
    let start = BootInstant(nanoseconds: 0)
    var keepAlive = LinkKeepAlive()

    init() throws {
        device = try #require(DeviceID(String(repeating: "a", count: 52)))
        neighbour = try #require(DeviceID(String(repeating: "b", count: 51) + "a"))
    }

    private func after(_ minutes: Int64) -> BootInstant { start.advanced(by: .seconds(minutes * 60)) }

    @discardableResult
    private mutating func link(
        _ number: UInt64, _ device: DeviceID? = nil, label: String = "wifi:1", address: String = "192.0.2.7:1000",
        isAway: Bool = false, at now: BootInstant
    ) -> Duration? {
        let link = LinkID(rawValue: number)
        keepAlive.linked(link, device ?? self.device, label: label, address: address, isAway: isAway, at: now)
        return keepAlive.interval(of: link)
    }

    private mutating func probe(
        _ number: UInt64, _ device: DeviceID? = nil, label: String = "wifi:1", at now: BootInstant
    ) -> Duration? {
        keepAlive.beginProbe(
            LinkID(rawValue: number), device ?? self.device, label: label, address: "192.0.2.7:2000", at: now)
    }

    // MARK: - Deaths

    @Test("A link that was found dead shortens the interval of its network, once its device is back on it")
    mutating func death() {
        #expect(link(1, at: start) == .seconds(240))
        keepAlive.ended(LinkID(rawValue: 1), isDead: true, at: after(30))
        #expect(link(3, at: after(61)) == .seconds(100))
        #expect(link(4, neighbour, address: "192.0.2.200:5", at: after(61)) == .seconds(100))
    }

    @Test("A link that died while its device was away is no fault of the network")
    mutating func away() {
        link(1, at: start)
        keepAlive.ended(LinkID(rawValue: 1), isDead: true, at: after(30))
        #expect(link(2, isAway: true, at: after(61)) == .seconds(240))
    }

    @Test("A push that gets no answer after a silence shorter than the interval counts with that silence")
    mutating func deadPush() {
        let id = LinkID(rawValue: 1)
        link(1, at: start)
        keepAlive.sent(id, at: after(3))
        keepAlive.sent(id, at: after(3).advanced(by: .seconds(5)))
        keepAlive.ended(id, isDead: true, at: after(3).advanced(by: .seconds(10)))
        #expect(link(3, at: after(20)) == .seconds(70))
    }

    @Test("A shorter interval is set on all links of the network at once")
    mutating func shorter() {
        link(9, neighbour, at: start)
        _ = keepAlive.takeChanges()
        link(0, at: start)
        keepAlive.ended(LinkID(rawValue: 0), isDead: true, at: after(20))
        link(2, at: after(60))
        #expect(keepAlive.takeChanges()[LinkID(rawValue: 9)] == .seconds(100))
        #expect(keepAlive.interval(of: LinkID(rawValue: 9)) == .seconds(100))
    }

    @Test("A device that comes back in another network, or that left in order, changes nothing")
    mutating func otherNetwork() {
        for number in UInt64(0)..<4 {
            // Each time another place, and so another router.
            link(number, label: "wifi:\(number)", at: after(Int64(number) * 60))
            keepAlive.ended(LinkID(rawValue: number), isDead: true, at: after(Int64(number) * 60 + 30))
        }
        for number in UInt64(10)..<14 {
            link(number, label: "wifi:0", at: after(Int64(number) * 60))
            keepAlive.ended(LinkID(rawValue: number), isDead: false, at: after(Int64(number) * 60 + 30))
        }
        #expect(link(20, label: "wifi:0", at: after(900)) == .seconds(240))
    }

    @Test("An address of IPv4 counts by its first three numbers, with what the device calls its network")
    mutating func networks() {
        for number in UInt64(0)..<3 {
            link(number, at: after(Int64(number) * 60))
            keepAlive.ended(LinkID(rawValue: number), isDead: true, at: after(Int64(number) * 60 + 30))
        }
        #expect(link(10, address: "192.0.2.99:7", at: after(200)).map { $0 < .seconds(240) } == true)
        #expect(link(11, label: "wifi:2", address: "192.0.2.99:7", at: after(200)) == .seconds(240))
        #expect(link(12, address: "192.0.3.99:7", at: after(200)) == .seconds(240))
    }

    @Test("A device that invents networks adds a few, and pushes out none of others")
    mutating func inventedNetworks() {
        for number in UInt64(1)...100 {
            let interval = link(number, label: "wifi:\(number)", at: start)
            #expect(interval == (number <= 8 ? .minutes(4) : .seconds(100)))
        }
        #expect(keepAlive.learner.count == 8)
        link(101, neighbour, label: "wifi:neighbour", at: start)
        #expect(keepAlive.learner.count == 9)
        // What it knows already costs nothing.
        #expect(link(102, label: "wifi:1", at: after(1)) == .minutes(4))
        #expect(link(103, label: "wifi:new", at: after(180)) == .minutes(4))
        #expect(keepAlive.learner.count == 10)
    }

    // MARK: - Probes

    @Test("After five silent periods a probe is due, and when it survives its device's link gets its interval")
    mutating func growth() {
        link(1, at: start)
        #expect(
            keepAlive.timing(of: device, at: start)
                == LinkTiming(keepAlive: 240, longest: 900, probeAfter: 6 * 240 + 60))
        #expect(probe(5, at: after(20)) == nil, "the fifth keep-alive may be unanswered yet")
        #expect(probe(5, at: after(21)) == .minutes(5))
        #expect(keepAlive.tried(for: LinkID(rawValue: 1)) == .minutes(5))
        _ = keepAlive.takeChanges()
        keepAlive.probeSurvived(LinkID(rawValue: 5), at: after(27))
        #expect(keepAlive.takeChanges() == [LinkID(rawValue: 1): .minutes(5)])
        #expect(
            keepAlive.timing(of: device, at: after(27))
                == LinkTiming(keepAlive: 300, longest: 900, probeAfter: 6 * 300 + 60))
        #expect(keepAlive.tried(for: LinkID(rawValue: 1)) == nil)
        // Only what was silent for the new interval counts.
        #expect(probe(6, at: after(27 + 25)) == nil)
        #expect(probe(7, at: after(27 + 26)) == .minutes(6))
    }

    @Test("What the device sends ends a period, and proves those before")
    mutating func traffic() {
        link(1, at: start)
        keepAlive.received(LinkID(rawValue: 1), at: after(7))
        #expect(probe(5, at: after(7 + 17 - 1)) == nil)
        #expect(
            keepAlive.timing(of: device, at: after(23))
                == LinkTiming(keepAlive: 240, longest: 900, probeAfter: 240 + 240 + 60))
        #expect(probe(6, at: after(7 + 17)) == .minutes(5), "one period before, four after")
    }

    @Test("An acknowledged push proves the periods before it")
    mutating func pushes() {
        let id = LinkID(rawValue: 1)
        link(1, at: start)
        for minute in [13, 26] as [Int64] {
            keepAlive.sent(id, at: after(minute))
            keepAlive.acknowledged(device, at: after(minute))
        }
        #expect(probe(5, at: after(26)) == .minutes(5))
    }

    /// The network's interval grows to this, by probes of `device`.
    private mutating func grow(to minutes: Int64) {
        link(1, at: start)
        var time: Int64 = 0
        for interval in 4..<minutes {
            time += interval * 6
            #expect(probe(5, at: after(time)) == .minutes(interval + 1))
            time += interval + 2
            keepAlive.probeSurvived(LinkID(rawValue: 5), at: after(time))
        }
        #expect(keepAlive.interval(of: LinkID(rawValue: 1)) == .minutes(minutes))
    }

    @Test("Another device of the network gets the longer interval by one probe of its own, and not before")
    mutating func neighbours() {
        link(1, at: start)
        link(2, neighbour, at: start)
        _ = probe(5, at: after(21))
        #expect(probe(6, neighbour, at: after(22)) == nil, "one probe a network")
        keepAlive.probeSurvived(LinkID(rawValue: 5), at: after(27))
        #expect(keepAlive.interval(of: LinkID(rawValue: 2)) == .minutes(4))
        #expect(link(3, neighbour, at: after(28)) == .minutes(4), "nor with a new link")
        #expect(keepAlive.timing(of: neighbour, at: after(28)).probeAfter == 300, "after one silent period")
        #expect(probe(7, neighbour, at: after(33)) == .minutes(5))
        keepAlive.probeSurvived(LinkID(rawValue: 7), at: after(39))
        #expect(keepAlive.interval(of: LinkID(rawValue: 3)) == .minutes(5))
        #expect(link(4, neighbour, at: after(40)) == .minutes(5), "and keeps it")
    }

    @Test("What a device that lies wins for its network takes nothing from one behind another NAT")
    mutating func strictNeighbour() throws {
        grow(to: 15)
        link(2, neighbour, at: after(600))
        var time: Int64 = 606
        var tries: [Int64] = []
        while let tried = probe(UInt64(time), neighbour, at: after(time)) {
            let id = LinkID(rawValue: UInt64(time))
            tries.append(tried.components.seconds)
            // A NAT that forgets after ten minutes.
            if tried < .minutes(10) {
                keepAlive.probeSurvived(id, at: after(time + 20))
            } else {
                try #require(keepAlive.probeBroke(id, at: after(time + 20)) == LinkID(rawValue: 2))
                keepAlive.probeJudged(id, deviceAnswers: true, at: after(time + 20))
            }
            time += 40
        }
        #expect(tries == [900, 570, 735, 652, 611, 590])
        #expect(keepAlive.interval(of: LinkID(rawValue: 2)) == .seconds(590))
        let timing = keepAlive.timing(of: neighbour, at: after(time))
        #expect(timing.failed == 611)
        // Near enough. A week later it tries once what failed; a probe of the network it never makes meanwhile.
        #expect(timing.probeAfter.map { $0 > 6 * 24 * 3600 && $0 < 7 * 24 * 3600 } == true)
        #expect(keepAlive.interval(of: LinkID(rawValue: 1)) == .minutes(15))
        keepAlive.received(LinkID(rawValue: 2), at: after(time + 3 * 24 * 60))
        #expect(probe(1, neighbour, at: after(time + 7 * 24 * 60)) == .seconds(611))
    }

    @Test("A link that died is remembered of its device, also when a neighbour's probe clears the network")
    mutating func ownDeath() {
        link(1, at: start)
        link(2, neighbour, at: start)
        keepAlive.ended(LinkID(rawValue: 1), isDead: true, at: after(5))
        #expect(link(3, at: after(6)) == .seconds(100))
        #expect(keepAlive.interval(of: LinkID(rawValue: 2)) == .seconds(100))
        #expect(probe(5, neighbour, at: after(20)) == .minutes(4))
        keepAlive.probeSurvived(LinkID(rawValue: 5), at: after(26))
        #expect(keepAlive.interval(of: LinkID(rawValue: 2)) == .minutes(4))
        #expect(keepAlive.interval(of: LinkID(rawValue: 3)) == .seconds(100))
        #expect(probe(6, at: after(30)) == .minutes(4), "it tries what failed, for itself")
        #expect(keepAlive.probeBroke(LinkID(rawValue: 6), at: after(36)) == LinkID(rawValue: 3))
        keepAlive.probeJudged(LinkID(rawValue: 6), deviceAnswers: true, at: after(36))
        #expect(keepAlive.interval(of: LinkID(rawValue: 2)) == .minutes(4), "nobody else pays for it")
        #expect(probe(7, at: after(40)) == .seconds(170))
    }

    @Test("Two seconds less than the network are no difference")
    mutating func nearly() {
        link(1, at: start)
        link(2, neighbour, at: start)
        // A push finds one link dead, after a silence of 236 s, and a keep-alive the other.
        keepAlive.sent(LinkID(rawValue: 1), at: start.advanced(by: .seconds(236)))
        keepAlive.ended(LinkID(rawValue: 1), isDead: true, at: start.advanced(by: .seconds(247)))
        keepAlive.ended(LinkID(rawValue: 2), isDead: true, at: after(5))
        #expect(link(4, neighbour, at: after(6)) == .seconds(100))
        keepAlive.ended(LinkID(rawValue: 4), isDead: false, at: after(7))
        #expect(link(3, at: after(8)) == .seconds(98))
        #expect(keepAlive.timing(of: device, at: after(8)).probeAfter != nil)
        #expect(probe(5, at: after(60)) == .minutes(4), "what its neighbour's network doubts")
    }

    @Test("What a device on a lasting link has shown is kept")
    mutating func lasting() {
        link(1, at: start)
        #expect(probe(5, at: after(21)) == .minutes(5))
        keepAlive.probeSurvived(LinkID(rawValue: 5), at: after(27))
        for day in Int64(1)...8 { keepAlive.received(LinkID(rawValue: 1), at: after(day * 1440)) }
        #expect(keepAlive.devices.lines(at: after(8 * 1440)).count == 1)
        #expect(link(2, at: after(8 * 1440)) == .minutes(5))
    }

    @Test("A device that catches up and ends its probe each time is asked for ever more seldom")
    mutating func abandonedProbes() {
        grow(to: 5)
        link(2, neighbour, at: after(600))
        var waits: [UInt32?] = []
        for number in UInt64(10)..<15 {
            #expect(probe(number, neighbour, at: after(700)) == .minutes(5))
            keepAlive.probeLeft(LinkID(rawValue: number), at: after(700))
            waits.append(keepAlive.timing(of: neighbour, at: after(700)).probeAfter)
        }
        #expect(waits == [300, 3600, 7200, 14400, 28800])
    }

    @Test("A probe that breaks is the network's fault only if its device answers on its link")
    mutating func brokenProbes() {
        link(1, at: start)
        for (day, answers) in [false, true].enumerated() {
            let begin = after(21 + Int64(day) * 1440)
            #expect(probe(UInt64(5 + day), at: begin) == .minutes(5))
            let id = LinkID(rawValue: UInt64(5 + day))
            #expect(keepAlive.probeBroke(id, at: begin.advanced(by: .minutes(6))) == LinkID(rawValue: 1))
            keepAlive.probeJudged(id, deviceAnswers: answers, at: begin.advanced(by: .minutes(6)))
            #expect(keepAlive.timing(of: device, at: begin.advanced(by: .minutes(6))).failed == (answers ? 300 : nil))
            #expect(keepAlive.interval(of: LinkID(rawValue: 1)) == .minutes(4))
        }
    }

    @Test("A probe that breaks before its time, with its link, or after it was ended shows nothing")
    mutating func voidProbes() {
        link(1, at: start)
        let day = Int64(1440)
        _ = probe(5, at: after(21))
        #expect(keepAlive.probeBroke(LinkID(rawValue: 5), at: after(25)) == nil)
        _ = probe(6, at: after(day))
        keepAlive.probeLeft(LinkID(rawValue: 6), at: after(day + 6))
        #expect(keepAlive.probeBroke(LinkID(rawValue: 6), at: after(day + 6)) == nil)
        #expect(probe(7, at: after(3 * day)) == .minutes(5))
        keepAlive.ended(LinkID(rawValue: 1), isDead: false, at: after(3 * day + 1))
        #expect(keepAlive.probeBroke(LinkID(rawValue: 7), at: after(3 * day + 6)) == nil)
        link(8, at: after(3 * day + 7))
        keepAlive.probeJudged(LinkID(rawValue: 7), deviceAnswers: true, at: after(3 * day + 7))
        let timing = keepAlive.timing(of: device, at: after(3 * day + 7))
        #expect(timing.failed == nil && timing.keepAlive == 240)
    }

    @Test("A device without a link, or in another network than its link, does not probe")
    mutating func strangers() {
        #expect(probe(5, at: start) == nil)
        link(1, at: start)
        #expect(probe(5, label: "cellular:1", at: after(60)) == nil)
        #expect(probe(5, neighbour, at: after(60)) == nil)
        #expect(probe(5, at: after(60)) == .minutes(5))
    }

    @Test("Probes that are not due are asked for ever more seldom")
    mutating func needless() {
        link(1, at: start)
        var waits: [UInt32?] = []
        for _ in 0..<8 {
            _ = probe(5, at: start)
            waits.append(keepAlive.timing(of: device, at: start).probeAfter)
        }
        #expect(waits == [1500, 3600, 7200, 14400, 28800, 57600, 86400, 86400])
    }
}

extension Duration {
    fileprivate static func minutes(_ minutes: Int64) -> Duration { .seconds(minutes * 60) }
}
