import RingwakeCore
import Testing

@testable import RingwakeDaemon

@Suite("The limit on wrong keys")
nonisolated struct TryLimitTests {
    private let start = BootInstant(nanoseconds: 0)

    private func isAllowed(_ limit: TryLimit, after time: Duration) -> Bool {
        (try? limit.allow(at: start.advanced(by: time))) != nil
    }

    @Test("Five wrong keys in a row cost nothing; after that one try in five seconds is looked at")
    func pauses() {
        var limit = TryLimit()
        for _ in 0..<5 {
            #expect(isAllowed(limit, after: .zero))
            limit.failed(at: start)
        }
        #expect(!isAllowed(limit, after: .zero) && !isAllowed(limit, after: .milliseconds(4999)))
        #expect(isAllowed(limit, after: .seconds(5)))
        limit.failed(at: start.advanced(by: .seconds(5)))
        #expect(!isAllowed(limit, after: .seconds(9)) && isAllowed(limit, after: .seconds(10)))
    }

    @Test("The right key ends it")
    func right() {
        var limit = TryLimit()
        for _ in 0..<9 { limit.failed(at: start) }
        limit.succeeded()
        #expect(isAllowed(limit, after: .zero))
    }

    @Test("The refusal says how long to wait")
    func message() {
        var limit = TryLimit()
        for _ in 0..<5 { limit.failed(at: start) }
        #expect(throws: RingwakeError(.limitReached, "5 wrong passphrases in a row; try again in 4 seconds")) {
            try limit.allow(at: start.advanced(by: .milliseconds(1500)))
        }
    }
}
