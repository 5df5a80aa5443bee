import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct DrainTests {
    private let retryAfter = [MQTTUserProperty("retry-after", "1")]

    /// Lets all deadlines come until there is none.
    private func finish(_ gateway: inout TestGateway) -> [[LinkGatewayEffect]] {
        var slices: [[LinkGatewayEffect]] = []
        while let deadline = gateway.machine.nextDeadline, slices.count < 1000 {
            slices.append(gateway.wait(gateway.now.duration(to: deadline)))
        }
        return slices
    }

    @Test("A drained gateway lets its links end in slices, with a time to come again, and refuses new ones")
    func drain() {
        var gateway = TestGateway((0..<26).map { .test($0) })
        let links = (0..<26).map { gateway.link(.test($0)) }
        let since = gateway.now
        let first = gateway.handle(.drain(true))
        #expect(gateway.machine.drainedSince == since)
        #expect(first.closed == Array(links.prefix(3)), "26 links in 10 slices of a second")
        #expect(first.disconnect?.reason == .serverShuttingDown && first.disconnect?.userProperties == retryAfter)
        let refused = gateway.connect(.test(0), on: gateway.open()).connack
        #expect(refused?.reason == .serverUnavailable && refused?.userProperties == retryAfter)
        #expect(refused?.reasonString == "the gateway is drained: it takes no links now")
        let rest = finish(&gateway)
        #expect(rest.flatMap(\.closed) == Array(links.dropFirst(3)))
        #expect(rest.map(\.closed.count).max() == 3 && gateway.machine.onlineCount == 0)
        #expect(since.duration(to: gateway.now) <= .seconds(1))
    }

    @Test("A pairing is refused too")
    func pairing() {
        var gateway = TestGateway()
        gateway.handle(.drain(true))
        #expect(gateway.connect(.test(9), on: gateway.open(), ["pair": "1"]).connack?.reason == .serverUnavailable)
    }

    @Test("What was on its way is written, and so is what comes while it is drained")
    func pushes() {
        var gateway = TestGateway()
        _ = gateway.link()
        #expect(gateway.push().appends.isEmpty)
        let drained = gateway.handle(.drain(true))
        #expect(drained.appends.count == 1 && gateway.commit(drained).answers == [1: .queued])
        #expect(gateway.commit(gateway.push(slot: .second)).answers == [2: .queued])
        #expect(gateway.machine.mailCount == 2)
    }

    @Test("Links that have not ended stay when it takes links again, and devices are accepted")
    func reopen() {
        var gateway = TestGateway((0..<26).map { .test($0) })
        for number in 0..<26 { _ = gateway.link(.test(number)) }
        gateway.handle(.drain(true))
        gateway.handle(.drain(false))
        #expect(finish(&gateway).isEmpty && gateway.machine.onlineCount == 23)
        #expect(gateway.machine.drainedSince == nil)
        #expect(gateway.connect(.test(0), on: gateway.open()).connack?.reason == .success)
    }

    @Test("Draining twice starts nothing anew, and a link that has ended meanwhile is nothing")
    func twice() {
        var gateway = TestGateway((0..<26).map { .test($0) })
        let links = (0..<26).map { gateway.link(.test($0)) }
        let since = gateway.now
        gateway.handle(.drain(true))
        gateway.handle(.closed(links[25]))
        gateway.now = gateway.now.advanced(by: .milliseconds(50))
        #expect(gateway.handle(.drain(true)).closed.isEmpty && gateway.machine.drainedSince == since)
        #expect(finish(&gateway).flatMap(\.closed).count == 22)
    }

    @Test("A gateway that stops while it is drained ends the rest at once")
    func stop() {
        var gateway = TestGateway((0..<26).map { .test($0) })
        for number in 0..<26 { _ = gateway.link(.test(number)) }
        gateway.handle(.drain(true))
        #expect(gateway.handle(.stop).closed.count == 23)
        gateway.handle(.drain(false))
        #expect(gateway.connect(.test(0), on: gateway.open()).connack?.reason == .serverUnavailable)
    }

    @Test("The time to come again grows with the devices: one second for 200, two minutes at most")
    func time() {
        var gateway = TestGateway([])
        let records = (0..<4000).map { number in
            DeviceRecord(id: .numbered(number), name: "", pairedAt: 0, sealing: nil)
        }
        gateway.machine.restore(records, mail: [])
        gateway.handle(.drain(true))
        #expect(
            gateway.connect(.numbered(7), on: gateway.open()).connack?.userProperties
                == [MQTTUserProperty("retry-after", "20")])
    }
}

extension DeviceID {
    /// One of many devices.
    fileprivate static func numbered(_ number: Int) -> DeviceID {
        let letters = Array("abcdefghijklmnop")
        let digits = (0..<6).map { letters[number >> (4 * $0) & 15] }
        guard let id = DeviceID(String(repeating: "q", count: 45) + String(digits) + "a") else {
            // The letters are those that an id may have.
            fatalError("a test's device id is wrong")
        }
        return id
    }
}
