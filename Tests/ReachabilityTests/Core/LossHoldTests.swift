import RunLoop
import Testing

@testable import Reachability

@Suite("Loss hold")
struct LossHoldTests {
    private let hold = Duration.milliseconds(200)
    private var machine = LossHold<NetworkPath>()

    private static let wifi = NetworkInterface(index: 2, name: "wlan0", type: .wifi)
    private static let cellular = NetworkInterface(index: 3, name: "wwan0", type: .cellular)
    private static let online = NetworkPath(
        status: .satisfied, interfaces: [wifi], supportsIPv4: true, supportsIPv6: true, supportsDNS: true)
    private static let offline = NetworkPath(status: .unsatisfied, unsatisfiedReason: .noRoute)

    private func at(_ milliseconds: Int64) -> BootClock.Instant {
        BootClock.Instant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("tells the first value, whatever it is, and not the same again")
    mutating func first() {
        #expect(machine.offer(Self.offline, at: at(0), holding: hold) == Self.offline)
        #expect(machine.offer(Self.offline, at: at(1), holding: hold) == nil)
        #expect(machine.deadline == nil)
    }

    @Test("keeps a loss back until the hold is over, and does not begin anew at each look")
    mutating func loss() {
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        #expect(machine.offer(Self.offline, at: at(10), holding: hold) == nil)
        #expect(machine.deadline == at(210))
        #expect(machine.offer(Self.offline, at: at(150), holding: hold) == nil)
        #expect(machine.deadline == at(210))
        #expect(machine.offer(Self.offline, at: at(210), holding: hold) == Self.offline)
        #expect(machine.deadline == nil)
        #expect(machine.reported == Self.offline)
    }

    @Test("says nothing of a loss that heals")
    mutating func healed() {
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        _ = machine.offer(Self.offline, at: at(10), holding: hold)
        #expect(machine.offer(Self.online, at: at(100), holding: hold) == nil)
        #expect(machine.deadline == nil)
        #expect(machine.offer(Self.offline, at: at(205), holding: hold) == nil)
        #expect(machine.deadline == at(405))
    }

    @Test("tells a loss at once where the hold is 0")
    mutating func noHold() {
        _ = machine.offer(Self.online, at: at(0), holding: .zero)
        #expect(machine.offer(Self.offline, at: at(0), holding: .zero) == Self.offline)
    }

    @Test("a shorter hold shortens the wait that is under way, a longer one does not lengthen it")
    mutating func otherHold() {
        _ = machine.offer(Self.online, at: at(0), holding: .seconds(60))
        _ = machine.offer(Self.offline, at: at(10), holding: .seconds(60))
        #expect(machine.offer(Self.offline, at: at(20), holding: hold) == nil)
        #expect(machine.deadline == at(220))
        #expect(machine.offer(Self.offline, at: at(30), holding: .seconds(60)) == nil)
        #expect(machine.deadline == at(220))
    }

    @Test("begins a loss anew when nobody knew in between how things were")
    mutating func interrupted() {
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        _ = machine.offer(Self.offline, at: at(10), holding: hold)
        #expect(machine.offer(Self.offline, isKnown: false, at: at(20), holding: hold) == nil)
        #expect(machine.deadline == nil)
        #expect(machine.reported == Self.online)
        #expect(machine.offer(Self.offline, at: at(300), holding: hold) == nil)
        #expect(machine.deadline == at(500))
    }

    @Test("tells another interface at once, also when it supports less")
    mutating func switchOver() {
        var mobile = Self.online
        mobile.interfaces = [Self.cellular]
        mobile.supportsIPv6 = false
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        #expect(machine.offer(mobile, at: at(1), holding: hold) == mobile)
    }

    @Test("tells a switch in the middle of a hold at once, and forgets the loss")
    mutating func switchWhileHolding() {
        var mobile = Self.online
        mobile.interfaces = [Self.cellular]
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        _ = machine.offer(Self.offline, at: at(1), holding: hold)
        #expect(machine.offer(mobile, at: at(2), holding: hold) == mobile)
        #expect(machine.deadline == nil)
    }

    @Test("takes one family less on the same interface for a loss, and one more for a gain")
    mutating func families() {
        var ipv4 = Self.online
        ipv4.supportsIPv6 = false
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        #expect(machine.offer(ipv4, at: at(1), holding: hold) == nil)
        #expect(machine.offer(ipv4, at: at(201), holding: hold) == ipv4)
        #expect(machine.offer(Self.online, at: at(202), holding: hold) == Self.online)
    }

    @Test("takes a family for another on the same interface for a change, and name servers out of reach for a loss")
    mutating func supports() {
        var ipv4 = Self.online
        ipv4.supportsIPv6 = false
        var ipv6 = Self.online
        ipv6.supportsIPv4 = false
        _ = machine.offer(ipv4, at: at(0), holding: hold)
        #expect(machine.offer(ipv6, at: at(1), holding: hold) == ipv6)
        var silent = ipv6
        silent.supportsDNS = false
        #expect(machine.offer(silent, at: at(2), holding: hold) == nil)
        #expect(machine.deadline == at(202))
    }

    @Test("takes a connection that has to be made first for less than one that is there, and more than none")
    mutating func connection() {
        let dormant = NetworkPath(
            status: .requiresConnection, unsatisfiedReason: .connectionRequired, interfaces: [Self.cellular])
        _ = machine.offer(Self.online, at: at(0), holding: hold)
        #expect(machine.offer(dormant, at: at(1), holding: hold) == nil)
        #expect(machine.offer(dormant, at: at(201), holding: hold) == dormant)
        #expect(machine.offer(Self.offline, at: at(202), holding: hold) == nil)
        #expect(machine.offer(Self.online, at: at(203), holding: hold) == Self.online)
    }

    @Test("tells another reason of the same loss at once")
    mutating func reason() {
        var down = Self.offline
        down.unsatisfiedReason = .interfaceDown
        _ = machine.offer(Self.offline, at: at(0), holding: hold)
        #expect(machine.offer(down, at: at(1), holding: hold) == down)
    }
}
