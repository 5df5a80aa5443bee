import Testing

@testable import Reachability

@Suite("Watch registry")
struct WatchRegistryTests {
    private let registry = WatchRegistry()
    private let old = TargetReachability(flags: .reachable, status: .satisfied)
    private let new = TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: .noRoute)

    private let any = WatchedTarget(.any)

    /// What a watch was told.
    private final class Listener {
        var told: [TargetReachability] = []
    }

    private func listener(_ target: WatchedTarget) -> Listener {
        let listener = Listener()
        _ = registry.add(target, { listener.told.append($0) }, onLast: {})
        return listener
    }

    @Test("while a better value is awaited, a new watch is told of none, and the others of each change")
    func awaited() {
        let first = listener(any)
        registry.notifyNew(nil, [(any, old)])
        let second = listener(any)
        registry.enqueue(.report(any, new))
        registry.notifyAll { $0 == any }
        #expect(first.told == [old, new])
        #expect(second.told == [])
        registry.enqueue(.report(any, old))
        registry.notifyAll { _ in false }
        #expect(first.told == [old, new, old])
        #expect(second.told == [old])
        registry.notifyNew(nil, [(any, new)])
        #expect(second.told == [old])
    }
}
