import RingwakeCore
import Testing

@Suite("A bucket of turns")
struct RateBucketTests {
    @Test("It says how long the next turn takes, and no longer")
    func waits() {
        var bucket = RateBucket(burst: 2, interval: .seconds(1))
        let start = BootInstant(nanoseconds: 5_000_000_000)
        #expect(bucket.wait(at: start) == .zero)
        bucket.take(at: start)
        #expect(bucket.allows(at: start) && bucket.wait(at: start) == .zero)
        bucket.take(at: start)
        #expect(!bucket.allows(at: start) && bucket.wait(at: start) == .seconds(1))
        let later = start.advanced(by: .milliseconds(400))
        #expect(bucket.wait(at: later) == .milliseconds(600))
        let due = start.advanced(by: .seconds(1))
        #expect(bucket.allows(at: due) && bucket.wait(at: due) == .zero)
        #expect(bucket.wait(at: start.advanced(by: .seconds(60))) == .zero)
    }
}
