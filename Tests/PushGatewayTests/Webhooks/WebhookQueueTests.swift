import RingwakeCore
import Testing

@testable import PushGateway

@Suite("Receipts that wait for a webhook")
nonisolated struct WebhookQueueTests {
    private typealias Queue = WebhookQueue<Int>
    private let start = BootInstant(nanoseconds: 1_000_000_000_000)

    /// A queue with a request on its way that has these pushes.
    private func sending(_ names: ClosedRange<Int>, at time: BootInstant) throws -> (Queue, Queue.Batch) {
        var queue = Queue()
        for name in names { queue.add(name, at: time) }
        let due = time.advanced(by: Queue.gatherTime)
        #expect(queue.next(at: due) == .build(Array(names)))
        let step = queue.built([1], id: "a", count: names.count, at: due)
        guard case .post(let batch) = step else { throw Missing() }
        return (queue, batch)
    }

    private struct Missing: Error {}

    @Test("What changes at about the same time is posted together, once")
    func gathers() throws {
        var queue = Queue()
        queue.add(1, at: start)
        queue.add(2, at: start.advanced(by: .milliseconds(100)))
        queue.add(1, at: start.advanced(by: .milliseconds(200)))
        #expect(queue.nextDeadline == start.advanced(by: Queue.gatherTime))
        #expect(queue.next(at: start.advanced(by: .milliseconds(499))) == nil)
        #expect(queue.next(at: start.advanced(by: .milliseconds(500))) == .build([1, 2]))
    }

    @Test("A full request does not wait")
    func full() {
        var queue = Queue()
        for name in 1...Queue.maximumInBatch + 3 { queue.add(name, at: start) }
        #expect(queue.next(at: start) == .build(Array(1...Queue.maximumInBatch)))
        #expect(queue.waiting == 3)
    }

    @Test("One request at a time; a push that changes while its receipt is on its way is posted again afterwards")
    func order() throws {
        var (queue, _) = try sending(1...2, at: start)
        let later = start.advanced(by: .seconds(5))
        queue.add(1, at: later)
        #expect(queue.next(at: later) == nil && queue.nextDeadline == nil && queue.waiting == 3)
        queue.finished(.delivered, at: later, jitter: 0)
        #expect(queue.delivered == 2)
        #expect(queue.next(at: later.advanced(by: Queue.gatherTime)) == .build([1]))
    }

    @Test("A failed request is repeated as it was, after pauses that double up to ten minutes")
    func backoff() throws {
        var (queue, batch) = try sending(1...1, at: start)
        var now = start.advanced(by: .seconds(1))
        var pauses: [Int64] = []
        for attempt in 2...13 {
            queue.finished(.failed("x", retryAfter: nil), at: now, jitter: 1)
            let next = try #require(queue.nextDeadline)
            pauses.append(now.duration(to: next).milliseconds)
            now = next
            guard case .post(let again) = queue.next(at: now) else { throw Missing() }
            #expect(again.id == batch.id && again.body == batch.body && again.attempts == attempt)
            batch = again
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600].map { $0 * 1000 })
        #expect(queue.problem == "x" && queue.failed == 12)
        queue.finished(.delivered, at: now, jitter: 1)
        #expect(queue.problem == nil)
    }

    @Test("A server may ask for a longer pause, up to ten minutes; chance halves a pause at most")
    func pauses() throws {
        for (asked, jitter, expected) in [(30, 0.0, 30), (100_000, 0.0, 600), (-5, 0.0, 0), (0, 1.0, 1)]
            as [(Int, Double, Int64)]
        {
            var (queue, _) = try sending(1...1, at: start)
            queue.finished(.failed("x", retryAfter: .seconds(asked)), at: start, jitter: jitter)
            let next = try #require(queue.nextDeadline)
            #expect(
                start.duration(to: next).milliseconds == max(expected * 1000, jitter == 0 && expected == 0 ? 500 : 0))
        }
    }

    @Test("A request is given up after a day, and the next one still waits")
    func age() throws {
        var (queue, _) = try sending(1...1, at: start)
        queue.add(2, at: start)
        let later = start.advanced(by: .seconds(25 * 3600))
        queue.finished(.failed("x", retryAfter: nil), at: later, jitter: 1)
        #expect(queue.dropped == 1 && queue.waiting == 1)
        for name in 3...Queue.maximumInBatch + 3 { queue.add(name, at: later) }
        #expect(queue.next(at: later) == nil)
        #expect(queue.next(at: later.advanced(by: .seconds(600))) != nil)
    }

    @Test("The number of attempts has an end even if the clock stands still")
    func attempts() throws {
        var (queue, _) = try sending(1...1, at: start)
        var count = 1
        while queue.waiting > 0 {
            queue.finished(.failed("x", retryAfter: nil), at: start, jitter: 1)
            if let next = queue.nextDeadline, queue.next(at: next) != nil { count += 1 }
        }
        #expect(count == Queue.maximumAttempts && queue.dropped == 1)
    }

    @Test("The queue of a dead server has an end: the oldest are dropped and counted")
    func bound() throws {
        var (queue, _) = try sending(1...1, at: start)
        let names = 2...(4 * Queue.maximumWaiting + 1)
        for name in names { queue.add(name, at: start) }
        #expect(queue.waiting == Queue.maximumWaiting + 1)
        #expect(queue.dropped == UInt64(3 * Queue.maximumWaiting))
        queue.finished(.delivered, at: start, jitter: 0)
        guard case .build(let next) = queue.next(at: start) else { throw Missing() }
        #expect(next.first == 3 * Queue.maximumWaiting + 2 && next.count == Queue.maximumInBatch)
    }

    @Test("A server that is gone gets nothing more until the webhook is configured anew")
    func gone() throws {
        var (queue, _) = try sending(1...2, at: start)
        queue.add(3, at: start)
        queue.finished(.gone, at: start, jitter: 0)
        #expect(queue.hasEnded && queue.dropped == 3 && queue.waiting == 0 && queue.nextDeadline == nil)
        queue.add(4, at: start)
        #expect(queue.waiting == 0)
        queue.restart(at: start)
        queue.add(5, at: start)
        #expect(queue.next(at: start.advanced(by: Queue.gatherTime)) == .build([5]))
    }

    @Test("Pushes that nobody knows any more make no request")
    func lost() throws {
        var queue = Queue()
        queue.add(1, at: start)
        let due = start.advanced(by: Queue.gatherTime)
        #expect(queue.next(at: due) == .build([1]))
        queue.lost(1)
        #expect(queue.built([], id: "a", count: 0, at: due) == nil)
        #expect(queue.dropped == 1 && queue.nextDeadline == nil)
        queue.add(2, at: due)
        #expect(queue.nextDeadline != nil)
    }
}
