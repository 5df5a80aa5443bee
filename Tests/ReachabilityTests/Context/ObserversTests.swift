import RunLoop
import Testing

@testable import Reachability

@Suite("Observers", .timeLimit(.minutes(10)))
struct ObserversTests {
    private let observers = Observers<Int>()

    @Test("one that comes later is told the newest value, once")
    func later() throws {
        let (first, second) = (try Inbox<Int>(), try Inbox<Int>())
        _ = observers.add(.init(body: first.put))
        observers.notifyNew()
        #expect(first.take() == nil)
        observers.notify(1)
        _ = observers.add(.init(body: second.put))
        observers.notifyNew()
        observers.notifyNew()
        #expect(first.take() == 1)
        #expect(first.take() == nil)
        #expect(second.take() == 1)
        #expect(second.take() == nil)
    }

    @Test("one that is removed by the one before it is not told")
    func removed() throws {
        let inbox = try Inbox<Int>()
        _ = observers.add(.init(body: { [observers] _ in observers.remove(2) }))
        let second = observers.add(.init(body: inbox.put))
        #expect(second == 2)
        observers.notify(1)
        #expect(inbox.take() == nil)
    }

    @Test("nothing is told after the end, which each hears of once")
    func finish() throws {
        let (told, ended) = (try Inbox<Int>(), try Inbox<Int>())
        _ = observers.add(.init(body: told.put, finish: { ended.put(1) }))
        observers.finish()
        observers.finish()
        observers.notify(1)
        #expect(told.take() == nil)
        #expect(ended.take() == 1)
        #expect(ended.take() == nil)
        #expect(observers.add(.init(body: told.put)) == nil)
    }

    @Test("a slow reader of a stream gets the newest value alone")
    func slow() async {
        var iterator = observers.stream(holding: self) {}.makeAsyncIterator()
        for value in 1...1_000 { observers.notify(value) }
        #expect(await iterator.next() == 1_000)
        observers.notify(1_001)
        observers.finish()
        #expect(await iterator.next() == 1_001)
        #expect(await iterator.next() == nil)
    }

    @Test("a stream keeps its owner, and lets go of it with its last reader")
    func owner() {
        final class Owner: Sendable {}
        weak var owner: Owner?
        do {
            let made = Owner()
            owner = made
            var stream: AsyncStream<Int>? = observers.stream(holding: made) {}
            withExtendedLifetime(stream) {}
            stream = nil
        }
        #expect(owner == nil)
    }

    @Test("a stream that is made after the end is finished")
    func finished() async {
        observers.finish()
        for await _ in observers.stream(holding: self, begun: {}) { Issue.record("a value after the end") }
    }
}
