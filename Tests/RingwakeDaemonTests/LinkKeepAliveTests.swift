import DeviceLink
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@MainActor @Suite("How often links are kept alive") struct LinkKeepAliveTests {
    let device: DeviceID
    let start = BootInstant(nanoseconds: 0)

    init() throws {
        device = try #require(DeviceID(String(repeating: "a", count: 52)))
    }

    private func after(_ minutes: Int64) -> BootInstant { start.advanced(by: .seconds(minutes * 60)) }

    @Test("A link that was found dead shortens the interval of its network, once its device is back on it")
    func death() {
        var keepAlive = LinkKeepAlive()
        let (first, second) = (LinkID(rawValue: 1), LinkID(rawValue: 2))
        #expect(
            keepAlive.linked(first, device, label: "wifi:1", address: "192.0.2.7:1000", at: start) == .seconds(240))
        keepAlive.ended(first, isDead: true, at: after(30))
        // Two failures: one may be a coincidence.
        _ = keepAlive.linked(second, device, label: "wifi:1", address: "192.0.2.9:1001", at: after(31))
        keepAlive.ended(second, isDead: true, at: after(60))
        let interval = keepAlive.linked(
            LinkID(rawValue: 3), device, label: "wifi:1", address: "192.0.2.7:1002", at: after(61))
        #expect(interval == .seconds(220))
        #expect(keepAlive.interval(label: "wifi:1", address: "192.0.2.200:5") == .seconds(220))
    }

    @Test("A device that comes back in another network, or that left in order, changes nothing")
    func otherNetwork() {
        var keepAlive = LinkKeepAlive()
        for number in UInt64(0)..<4 {
            let link = LinkID(rawValue: number)
            // Each time another place, and so another router.
            _ = keepAlive.linked(
                link, device, label: "wifi:\(number)", address: "192.0.2.7:1000", at: after(Int64(number) * 60))
            keepAlive.ended(link, isDead: true, at: after(Int64(number) * 60 + 30))
        }
        for number in UInt64(10)..<14 {
            let link = LinkID(rawValue: number)
            _ = keepAlive.linked(
                link, device, label: "wifi:0", address: "192.0.2.7:1000", at: after(Int64(number) * 60))
            keepAlive.ended(link, isDead: false, at: after(Int64(number) * 60 + 30))
        }
        #expect(keepAlive.interval(label: "wifi:0", address: "192.0.2.7:1") == .seconds(240))
    }

    @Test("An address of IPv4 counts by its first three numbers, with what the device calls its network")
    func networks() {
        var keepAlive = LinkKeepAlive()
        for number in UInt64(0)..<3 {
            _ = keepAlive.linked(
                LinkID(rawValue: number), device, label: "wifi:1", address: "192.0.2.7:1000",
                at: after(Int64(number) * 60))
            keepAlive.ended(LinkID(rawValue: number), isDead: true, at: after(Int64(number) * 60 + 30))
        }
        #expect(keepAlive.interval(label: "wifi:1", address: "192.0.2.99:7") < .seconds(240))
        #expect(keepAlive.interval(label: "wifi:2", address: "192.0.2.99:7") == .seconds(240))
        #expect(keepAlive.interval(label: "wifi:1", address: "192.0.3.99:7") == .seconds(240))
    }
}
