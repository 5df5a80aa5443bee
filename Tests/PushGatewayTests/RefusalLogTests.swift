import RingwakeCore
import Testing

@testable import PushGateway

@Suite("The log of refusals")
struct RefusalLogTests {
    private func attempt(_ peer: String, _ number: Int) -> RefusedAttempt {
        RefusedAttempt(
            at: Int64(number), pushID: "\(number)", peer: peer, environment: .production, team: nil,
            reason: "BadDeviceToken", cause: "why")
    }

    @Test("a stranger that is refused again and again pushes out its own entries only, whatever port it uses")
    func flood() {
        var log = RefusalLog()
        for number in 1...3 { log.add(attempt("192.0.2.1:40000", number)) }
        for number in 4...5000 { log.add(attempt("[2001:db8::1]:\(number)", number)) }
        #expect(log.attempts.count == RefusalLog.capacity)
        #expect(log.attempts.prefix(3).map(\.at) == [1, 2, 3])
        #expect(log.attempts.last?.at == 5000)
    }

    @Test("many addresses lose their oldest too, and the order is that of arrival")
    func many() {
        var log = RefusalLog()
        for number in 1...3000 { log.add(attempt("192.0.2.\(number % 200):1", number)) }
        let times = log.attempts.map(\.at)
        #expect(times.count == RefusalLog.capacity && times == times.sorted() && times.last == 3000)
    }

    @Test("all addresses of one IPv6 network are one stranger")
    func network() {
        var log = RefusalLog()
        for number in 1...20 { log.add(attempt("192.0.2.1:40000", number)) }
        for number in 1...3000 { log.add(attempt("[2001:db8::\(number)]:1", 100 + number)) }
        #expect(log.attempts.count == RefusalLog.capacity)
        #expect(log.attempts.prefix(20).map(\.at) == Array(1...20))
    }
}
