import Glibc
import RunLoop
import Testing

@testable import Reachability

@Suite("Name resolver")
struct NameResolverTests {
    private let loop: RunLoop

    init() throws {
        loop = try RunLoop(wakingFromSuspend: false)
    }

    /// What the completions were called with.
    private final class Answers {
        var all: [(host: String, resolution: Resolution)] = []

        func ask(_ resolver: NameResolver, _ host: String) {
            resolver.resolve(host) { self.all.append((host, $0)) }
        }

        func of(_ host: String) -> [Resolution] { all.filter { $0.host == host }.map(\.resolution) }
    }

    private func resolver(_ lookup: ScriptedLookup) throws -> NameResolver {
        try NameResolver(runLoop: loop) { lookup.lookUp($0) }
    }

    private func address(_ bits: UInt32) -> Resolution { .addresses([IPAddress(ipv4: bits)]) }

    @Test("answers once, in a later turn, and wakes the loop for it")
    func answerOnce() throws {
        let lookup = try ScriptedLookup(blocked: ["a"])
        let resolver = try resolver(lookup)
        let answers = Answers()
        answers.ask(resolver, "a")
        lookup.waitUntilBegun(1)
        #expect(answers.all.isEmpty)
        lookup.release("a")
        #expect(loop.turn { !answers.all.isEmpty })
        loop.runOnce(timeout: .zero)
        #expect(answers.of("a") == [address(1)])
        #expect(resolver.lookups == 1)
        #expect(!loop.isReady)
    }

    @Test("names whose servers are silent hold up no other while a thread is left")
    func silentServers() throws {
        let silent = ["s1", "s2", "s3"]
        let lookup = try ScriptedLookup(blocked: silent)
        let resolver = try resolver(lookup)
        let answers = Answers()
        for name in silent { answers.ask(resolver, name) }
        lookup.waitUntilBegun(3)
        answers.ask(resolver, "quick")
        #expect(loop.turn { !answers.of("quick").isEmpty })
        #expect(answers.all.count == 1)
        for name in silent { lookup.release(name) }
        #expect(loop.turn { answers.all.count == 4 })
    }

    @Test("with all four threads held up names wait, in their order, and are answered in the end")
    func allThreadsBusy() throws {
        let silent = ["s1", "s2", "s3", "s4"]
        let lookup = try ScriptedLookup(blocked: silent)
        let resolver = try resolver(lookup)
        let answers = Answers()
        for name in silent { answers.ask(resolver, name) }
        lookup.waitUntilBegun(4)
        for name in ["w1", "w2", "w3"] { answers.ask(resolver, name) }
        #expect(lookup.begun.count == 4)
        lookup.release("s2")
        #expect(loop.turn { answers.all.count == 4 })
        #expect(answers.all.map(\.host) == ["s2", "w1", "w2", "w3"])
        #expect(lookup.threads.count == 4)
        for name in silent { lookup.release(name) }
        #expect(loop.turn { answers.all.count == 7 })
    }

    @Test("calls for a name that waits share its look-up")
    func sharedLookup() throws {
        let silent = ["s1", "s2", "s3", "s4"]
        let lookup = try ScriptedLookup(blocked: silent)
        let resolver = try resolver(lookup)
        let answers = Answers()
        for name in silent { answers.ask(resolver, name) }
        lookup.waitUntilBegun(4)
        for _ in 0..<3 { answers.ask(resolver, "w") }
        for name in silent { lookup.release(name) }
        #expect(loop.turn { answers.all.count == 7 })
        #expect(answers.of("w") == [address(1), address(1), address(1)])
        #expect(resolver.lookups == 5)
    }

    @Test("calls for a name that is being looked up are answered by another look-up after it")
    func askedAgain() throws {
        let lookup = try ScriptedLookup(blocked: ["a"])
        let resolver = try resolver(lookup)
        let answers = Answers()
        answers.ask(resolver, "a")
        lookup.waitUntilBegun(1)
        answers.ask(resolver, "a")
        answers.ask(resolver, "a")
        #expect(lookup.begun == ["a"])
        lookup.release("a")
        #expect(loop.turn { answers.all.count == 1 })
        lookup.release("a")
        #expect(loop.turn { answers.all.count == 3 })
        #expect(answers.of("a") == [address(1), address(2), address(2)])
        #expect(resolver.lookups == 2)
    }

    @Test("a completion may ask for the same name again")
    func askFromCompletion() throws {
        let resolver = try resolver(ScriptedLookup())
        var answers: [Resolution] = []
        resolver.resolve("a") { first in
            answers.append(first)
            resolver.resolve("a") { answers.append($0) }
        }
        #expect(loop.turn { answers.count == 2 })
        #expect(answers == [address(1), address(2)])
    }

    @Test("no thread is left when no name waits")
    func threadsEnd() throws {
        let lookup = try ScriptedLookup(blocked: ["s1", "s2", "s3", "s4"])
        let resolver = try resolver(lookup)
        let answers = Answers()
        for name in ["s1", "s2", "s3", "s4"] { answers.ask(resolver, name) }
        lookup.waitUntilBegun(4)
        #expect(lookup.threads.count == 4)
        #expect(lookup.threads.allSatisfy { access($0, F_OK) == 0 })
        for name in ["s1", "s2", "s3", "s4"] { lookup.release(name) }
        #expect(loop.turn { answers.all.count == 4 })
        #expect(hasEnded(lookup.threads))
    }

    @Test("closed while a look-up hangs: at once, nothing is told, and only the thread stays until it ends")
    func closeWhileHanging() throws {
        let lookup = try ScriptedLookup(blocked: ["a"])
        let answers = Answers()
        weak var gone: NameResolver?
        do {
            let resolver = try resolver(lookup)
            gone = resolver
            answers.ask(resolver, "a")
            lookup.waitUntilBegun(1)
            answers.ask(resolver, "a")
            answers.ask(resolver, "waiting")
            resolver.close()
            answers.ask(resolver, "late")
        }
        #expect(gone == nil)
        lookup.release("a")
        #expect(hasEnded(lookup.threads))
        loop.runOnce(timeout: .zero)
        #expect(answers.all.isEmpty)
        #expect(!lookup.begun.contains("late"))
    }

    @Test("closed by a completion: the others of the same answer are not called")
    func closeFromCompletion() throws {
        let silent = ["s1", "s2", "s3", "s4"]
        let lookup = try ScriptedLookup(blocked: silent)
        let resolver = try resolver(lookup)
        for name in silent { resolver.resolve(name) { _ in } }
        lookup.waitUntilBegun(4)
        var calls = 0
        for _ in 0..<2 {
            resolver.resolve("a") { _ in
                calls += 1
                resolver.close()
            }
        }
        lookup.release("s1")
        #expect(loop.turn { calls > 0 })
        loop.runOnce(timeout: .zero)
        #expect(calls == 1)
        for name in silent { lookup.release(name) }
    }

    @Test("names beyond the limit fail, in a later turn, and the others are answered")
    func tooManyNames() throws {
        let silent = ["s1", "s2", "s3", "s4"]
        let lookup = try ScriptedLookup(blocked: silent)
        let resolver = try resolver(lookup)
        let answers = Answers()
        for name in silent { answers.ask(resolver, name) }
        lookup.waitUntilBegun(4)
        for number in silent.count..<NameResolver.maximumNames { answers.ask(resolver, "n\(number)") }
        answers.ask(resolver, "one too many")
        answers.ask(resolver, "n1000")
        #expect(answers.all.isEmpty)
        loop.runOnce(timeout: .zero)
        #expect(answers.all.map(\.host) == ["one too many"])
        for name in silent { lookup.release(name) }
        #expect(loop.turn { answers.all.count == NameResolver.maximumNames + 2 })
        #expect(answers.of("n1000").count == 2)
        answers.ask(resolver, "room again")
        #expect(loop.turn { answers.of("room again") == [address(1)] })
    }

    @Test("calls beyond the limit fail")
    func tooManyCalls() throws {
        let lookup = try ScriptedLookup(blocked: ["a"])
        let resolver = try resolver(lookup)
        var good = 0
        var failed = 0
        for _ in 0...NameResolver.maximumCalls {
            resolver.resolve("a") { if case .failed = $0 { failed += 1 } else { good += 1 } }
        }
        loop.runOnce(timeout: .zero)
        #expect(failed == 1)
        lookup.release("a")
        lookup.release("a")
        #expect(
            loop.turn {
                lookup.release("a")
                return good == NameResolver.maximumCalls
            })
    }

    /// Nothing tells of the end of a detached thread but its directory in /proc.
    private func hasEnded(_ threads: Set<String>) -> Bool {
        let end = loop.refreshNow().advanced(by: .seconds(30))
        while threads.contains(where: { access($0, F_OK) == 0 }) {
            guard loop.refreshNow() < end else { return false }
            usleep(1_000)
        }
        return true
    }
}
