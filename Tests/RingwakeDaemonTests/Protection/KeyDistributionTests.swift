import DataProtection
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@Suite("Giving keys to the store, and news to apps")
final class KeyDistributionTests {
    private let distribution = KeyDistribution()
    private var applied: [KeyRing] = []
    private var completions: [() -> Void] = []
    private var published: [ProtectedDataState] = []

    init() {
        distribution.apply = { [weak self] ring, completion in
            self?.applied.append(ring)
            self?.completions.append(completion)
        }
        distribution.publish = { [weak self] in self?.published.append($0) }
        distribution.begin()
    }

    @Test("What is so at the start is told then, and not before")
    func beginning() {
        let distribution = KeyDistribution()
        distribution.publish = { [weak self] in self?.published.append($0) }
        distribution.ring = KeyRing(classes: [.payloads: .complete])
        distribution.settle(.unavailable)
        #expect(published.isEmpty)
        var given: [KeyRing] = []
        distribution.apply = { ring, completion in
            given.append(ring)
            completion()
        }
        distribution.begin()
        #expect(published == [.unavailable] && given.map(\.classes) == [[.payloads: .complete]])
    }

    private func complete() { completions.removeFirst()() }

    private func change() { distribution.ring = KeyRing(classes: [.payloads: .complete]) }

    @Test("Apps are told that data are available when the store uses the keys, and at once that they are not")
    func order() {
        change()
        distribution.settle(.unavailable)
        #expect(published == [.unavailable] && applied.count == 1)
        #expect(distribution.published == .unavailable)
        change()
        distribution.settle(.available)
        complete()
        #expect(published == [.unavailable])
        #expect(distribution.published == .unavailable)
        complete()
        #expect(published == [.unavailable, .available])
        #expect(distribution.published == .available)
    }

    @Test("A class counts as readable when the store uses its keys, and as locked at once")
    func readable() throws {
        let key = try ClassKey.generate(1)
        func use(_ key: ClassKey, _ state: ProtectedDataState) {
            distribution.ring = KeyRing(keys: [.complete: [key]], classes: [.payloads: .complete])
            distribution.settle(state)
        }
        use(key.locked, .unavailable)
        #expect(!distribution.readable.contains(.complete))
        complete()
        use(key, .available)
        #expect(!distribution.readable.contains(.complete))
        complete()
        #expect(distribution.readable.contains(.complete))
        use(key.locked, .unavailable)
        #expect(!distribution.readable.contains(.complete))
        // The keys that it took back are in use no earlier than those after them.
        use(key, .available)
        complete()
        #expect(!distribution.readable.contains(.complete))
        complete()
        #expect(distribution.readable.contains(.complete) && distribution.published == .available)
    }

    @Test("Keys that are the same are given once, and a state that is the same is told once")
    func once() {
        distribution.settle(.available)
        #expect(applied.isEmpty && published.isEmpty)
        change()
        distribution.settle(.available)
        distribution.settle(.available)
        #expect(applied.count == 1)
        complete()
        #expect(published.isEmpty)
    }

    @Test("Who waits for the keys goes on when they are in use, and at once when they are already")
    func waiting() {
        var done = 0
        distribution.whenApplied { done += 1 }
        #expect(done == 1)
        change()
        distribution.settle(.available)
        distribution.whenApplied { done += 1 }
        #expect(done == 1)
        complete()
        #expect(done == 2)
    }
}
