import DeviceLink
import RingwakeCore
import Testing

/// The machine of RFC 8305.
struct ConnectionRaceTests {
    private typealias Race = ConnectionRace<String>
    private let start = BootInstant.at(.seconds(100))

    private func at(_ milliseconds: Int) -> BootInstant { start.advanced(by: .milliseconds(milliseconds)) }

    private func started(_ families: [AddressFamily]) -> Race {
        var race = Race(families: families)
        _ = race.start(at: start)
        return race
    }

    @Test("IPv6 is tried first, then the families take turns, each in the order of the resolver")
    func interleaving() {
        #expect(Race(families: [.ipv4, .ipv4, .ipv4, .ipv6, .ipv6]).order == [3, 0, 4, 1, 2])
        #expect(Race(families: [.ipv6, .ipv6, .ipv6, .ipv4]).order == [0, 3, 1, 2])
        #expect(Race(families: [.ipv4, .ipv4]).order == [0, 1])
    }

    @Test("Without an address the race fails at once")
    func noAddress() {
        var race = Race(families: [])
        #expect(race.start(at: start) == [.failed([])])
        #expect(race.isOver && race.nextDeadline == nil)
    }

    @Test("The next attempt starts 250 ms after the last one, and not before")
    func attemptDelay() {
        var race = Race(families: [.ipv4, .ipv6, .ipv4])
        #expect(race.nextDeadline == nil)
        #expect(race.start(at: start) == [.start(1)])
        #expect(race.nextDeadline == at(250))
        #expect(race.advance(to: at(249)) == [])
        #expect(race.advance(to: at(250)) == [.start(0)])
        #expect(race.nextDeadline == at(500))
        #expect(race.advance(to: at(500)) == [.start(2)])
        #expect(race.nextDeadline == at(30000))
    }

    @Test("A late timer starts one attempt, and the next one waits again")
    func lateTimer() {
        var race = started([.ipv4, .ipv4, .ipv4])
        #expect(race.advance(to: at(2000)) == [.start(1)])
        #expect(race.nextDeadline == at(2250))
    }

    @Test("A failed attempt starts the next one at once, and the delay begins again")
    func failureStartsNext() {
        var race = started([.ipv4, .ipv4, .ipv4])
        #expect(race.failed(0, "refused", at: at(10)) == [.start(1)])
        #expect(race.nextDeadline == at(260))
        #expect(race.failed(0, "refused", at: at(20)) == [])
    }

    @Test("The first complete handshake wins, and every other attempt is closed")
    func winner() {
        var race = started([.ipv4, .ipv4, .ipv4, .ipv4])
        _ = race.advance(to: at(250))
        _ = race.connected(0, at: at(260))
        _ = race.failed(0, "bad certificate", at: at(270))
        #expect(race.connected(2, at: at(280)) == [])
        #expect(race.secured(1) == [.close(2), .won(1)])
        #expect(race.isOver && race.nextDeadline == nil)
        #expect(race.secured(2) == [])
        #expect(race.failed(2, "closed", at: at(300)) == [])
        #expect(race.advance(to: at(600)) == [])
    }

    @Test("A TCP connection does not win, but puts the next attempt off once")
    func connectedIsNotEnough() {
        var race = started([.ipv4, .ipv4])
        #expect(race.connected(0, at: at(200)) == [])
        #expect(race.nextDeadline == at(450))
        #expect(race.connected(0, at: at(400)) == [])
        #expect(race.nextDeadline == at(450))
        #expect(race.advance(to: at(450)) == [.start(1)])
    }

    @Test("When all attempts have failed, all errors are reported in the caller's order")
    func allFail() {
        var race = started([.ipv4, .ipv6])
        #expect(race.failed(1, "unreachable", at: at(5)) == [.start(0)])
        #expect(race.failed(0, "refused", at: at(9)) == [.failed([.failed("refused"), .failed("unreachable")])])
        #expect(race.isOver)
    }

    @Test("While an attempt is in progress, the failure of the last other one does not end the race")
    func lastStartedFails() {
        var race = started([.ipv4, .ipv4])
        _ = race.advance(to: at(250))
        #expect(race.failed(1, "refused", at: at(300)) == [])
        #expect(race.nextDeadline == at(30000))
        #expect(race.secured(0) == [.won(0)])
    }

    @Test("At the deadline the attempts in progress are closed, and each outcome says how far it came")
    func deadline() {
        var limits = ConnectionRaceLimits()
        limits.overall = .milliseconds(600)
        limits.maximumAttempts = 3
        var race = Race(families: [.ipv4, .ipv4, .ipv4, .ipv4], limits: limits)
        _ = race.start(at: start)
        _ = race.failed(0, "refused", at: at(100))
        _ = race.connected(1, at: at(200))
        _ = race.advance(to: at(450))
        #expect(race.nextDeadline == at(600))
        #expect(
            race.advance(to: at(600)) == [
                .close(1), .close(2),
                .failed([.failed("refused"), .timedOut(.handshaking), .timedOut(.connecting), .untried]),
            ])
    }

    @Test("A failure that is reported after the deadline starts nothing")
    func lateFailure() {
        var race = started([.ipv4, .ipv4])
        #expect(race.failed(0, "refused", at: at(30000)) == [.failed([.failed("refused"), .untried])])
    }

    @Test("A cancelled race closes its attempts and says nothing more")
    func cancel() {
        var race = started([.ipv4, .ipv4])
        _ = race.advance(to: at(250))
        #expect(race.cancel() == [.close(0), .close(1)])
        #expect(race.secured(0) == [])
        #expect(race.cancel() == [])
    }

    @Test("Whatever happens, a race ends once, closes what it started, and starts no address twice")
    func anyOrder() {
        for seed in 0..<2000 as Range<UInt64> {
            var random = TimingRandom(seed: seed)
            let count = Int.random(in: 0...20, using: &random)
            var race = Race(families: (0..<count).map { _ in Bool.random(using: &random) ? .ipv4 : .ipv6 })
            var now = start
            var open: Set<Int> = []
            var seen: Set<Int> = []
            var ends = 0
            func apply(_ actions: [Race.Action]) {
                for action in actions {
                    switch action {
                    case .start(let index):
                        #expect(seen.insert(index).inserted, "seed \(seed)")
                        open.insert(index)
                    case .close(let index): #expect(open.remove(index) != nil, "seed \(seed)")
                    case .won(let index):
                        #expect(open == [index], "seed \(seed)")
                        ends += 1
                    case .failed(let outcomes):
                        #expect(open.isEmpty && outcomes.count == count, "seed \(seed)")
                        ends += 1
                    }
                }
            }
            apply(race.start(at: now))
            while let deadline = race.nextDeadline {
                #expect(seen.count <= 16 && deadline > now, "seed \(seed)")
                let index = Int.random(in: -1...20, using: &random)
                switch Int.random(in: 0..<20, using: &random) {
                case 0 where open.contains(index): apply(race.secured(index))
                case 1..<6:
                    open.remove(index)
                    apply(race.failed(index, "x", at: now))
                case 6..<10: apply(race.connected(index, at: now))
                default:
                    now = deadline
                    apply(race.advance(to: now))
                }
            }
            #expect(ends == 1, "seed \(seed)")
        }
    }
}
