import HTTPServer
import RunLoop
import Testing

@Suite struct LogThrottleTests {
    private func after(_ seconds: Int) -> BootClock.Instant {
        BootClock.Instant(nanoseconds: 1_000_000_000).advanced(by: .seconds(seconds))
    }

    @Test("The first of a kind is logged, then one in a period with the number of those between")
    func period() {
        var throttle = LogThrottle<String>()
        let noted = [("a", 0), ("a", 1), ("a", 59), ("b", 59)].map { throttle.note($0, at: after($1)) }
        #expect(noted == [0, nil, nil, 0])
        #expect(throttle.unlogged.map(\.count) == [2])
        let later = throttle.note("a", at: after(60))
        #expect(later == 2)
        #expect(throttle.unlogged.isEmpty)
    }

    @Test("Further kinds are not logged until one had no event for a period")
    func kinds() {
        var throttle = LogThrottle<Int>(maximumKinds: 2)
        let noted = [(1, 0), (2, 30), (3, 40), (3, 60), (1, 61)].map { throttle.note($0, at: after($1)) }
        #expect(noted == [0, 0, nil, 0, nil])
    }
}
