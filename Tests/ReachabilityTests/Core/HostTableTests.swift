import RunLoop
import Testing

@testable import Reachability

@Suite("Host table")
struct HostTableTests {
    private var table = HostTable()
    private let one = IPAddress("192.0.2.1") ?? IPAddress(ipv4: 0)
    private let two = IPAddress("192.0.2.2") ?? IPAddress(ipv4: 0)

    private func at(_ seconds: Int64) -> BootClock.Instant {
        BootClock.Instant(nanoseconds: seconds * 1_000_000_000)
    }

    private mutating func resolve(
        _ answer: Resolution, at seconds: Int64 = 0, mayRetry: Bool = true
    ) -> (isChanged: Bool, ask: [String]) {
        table.resolved("a.example", answer, at: at(seconds), mayRetry: mayRetry)
    }

    @Test("asks a new name once, and is resolving until the answer")
    mutating func new() {
        #expect(table.add("a.example") == ["a.example"])
        #expect(table.add("a.example") == [])
        #expect(table.knowledge(of: "a.example") == .unknown(.resolving))
        let answer = resolve(.addresses([one]))
        #expect(answer.isChanged && answer.ask.isEmpty)
        #expect(table.knowledge(of: "a.example") == .addresses([one]))
        #expect(table.nextDeadline == nil)
    }

    @Test("asks again when things changed while the name was asked, once")
    mutating func changedMeanwhile() {
        _ = table.add("a.example")
        #expect(table.askAll() == [])
        #expect(table.askAll() == [])
        #expect(resolve(.addresses([one])).ask == ["a.example"])
        let second = resolve(.addresses([two]))
        #expect(second.isChanged && second.ask.isEmpty)
    }

    @Test("an answer that is the same changes nothing")
    mutating func same() {
        _ = table.add("a.example")
        _ = resolve(.addresses([one]))
        #expect(table.askAll() == ["a.example"])
        #expect(!resolve(.addresses([one])).isChanged)
    }

    @Test("the same addresses in another order change nothing")
    mutating func order() {
        _ = table.add("a.example")
        _ = resolve(.addresses([one, two]))
        _ = table.askAll()
        #expect(!resolve(.addresses([two, one])).isChanged)
        #expect(table.knowledge(of: "a.example") == .addresses([one, two]))
    }

    @Test("a name without an answer is asked again, later each time, and no more once it has one")
    mutating func retries() {
        _ = table.add("a.example")
        var seconds: Int64 = 0
        for pause: Int64 in [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            _ = resolve(.failed("no server"), at: seconds)
            #expect(table.nextDeadline == at(seconds + pause))
            #expect(table.askDue(at: at(seconds + pause - 1)) == [])
            seconds += pause
            #expect(table.askDue(at: at(seconds)) == ["a.example"])
            #expect(table.nextDeadline == nil)
        }
        _ = resolve(.addresses([one]), at: seconds)
        #expect(table.nextDeadline == nil)
        _ = table.askAll()
        _ = resolve(.notFound, at: seconds)
        #expect(table.nextDeadline == at(seconds + 2))
    }

    @Test("after a change of the network the retries begin with the shortest pause again")
    mutating func retriesAfterChange() {
        _ = table.add("a.example")
        for second: Int64 in 0..<10 {
            _ = resolve(.failed("no server"), at: second)
            _ = table.askDue(at: at(10_000))
        }
        _ = resolve(.failed("no server"), at: 10)
        #expect(table.nextDeadline == at(10 + 900))
        #expect(table.askAll() == ["a.example"])
        _ = resolve(.failed("no server"), at: 20)
        #expect(table.nextDeadline == at(22))
    }

    @Test("without a name server in reach there is no retry")
    mutating func noServer() {
        _ = table.add("a.example")
        _ = resolve(.failed("unreachable"), mayRetry: false)
        #expect(table.nextDeadline == nil)
        #expect(table.knowledge(of: "a.example") == .unknown(.nameServersSilent))
    }

    @Test("silent servers leave the old addresses, a definite no takes them")
    mutating func keep() {
        _ = table.add("a.example")
        _ = resolve(.addresses([one]))
        _ = table.askAll()
        #expect(!resolve(.failed("silent")).isChanged)
        #expect(table.knowledge(of: "a.example") == .addresses([one]))
        _ = table.askAll()
        #expect(resolve(.notFound).isChanged)
        #expect(table.knowledge(of: "a.example") == .unknown(.nameNotFound))
    }

    @Test("an old answer is asked for again when it is needed, and waited for; no timer does it")
    mutating func old() {
        _ = table.add("a.example")
        #expect(table.askOld(["a.example"], at: at(100)) == [])
        _ = resolve(.addresses([one]), at: 100)
        #expect(table.askOld(["a.example", "b.example"], at: at(130)) == [])
        #expect(!table.isAwaited("a.example", at: at(131)))
        #expect(table.nextDeadline == nil)
        #expect(table.askOld(["a.example", "b.example"], at: at(131)) == ["a.example"])
        #expect(table.isAwaited("a.example", at: at(131)))
        // It is under way: that answers this one too.
        #expect(table.askOld(at: at(132)) == [])
        let answer = resolve(.addresses([two]), at: 133)
        #expect(answer.isChanged && answer.ask.isEmpty)
        #expect(!table.isAwaited("a.example", at: at(133)))
        #expect(table.resolvedAt("a.example") == at(133))
        #expect(table.askOld(at: at(163)) == [])
        #expect(table.askOld(at: at(164)) == ["a.example"])
    }

    @Test("a younger answer is not waited for, whyever the name is asked again")
    mutating func young() {
        _ = table.add("a.example")
        #expect(!table.isAwaited("a.example", at: at(0)))
        _ = resolve(.addresses([one]), at: 100)
        _ = table.askAll()
        #expect(!table.isAwaited("a.example", at: at(130)))
        #expect(table.isAwaited("a.example", at: at(131)))
    }

    @Test("silent servers leave the old addresses with their age; that there is none has an age too")
    mutating func age() {
        #expect(table.resolvedAt("a.example") == nil)
        _ = table.add("a.example")
        #expect(table.resolvedAt("a.example") == nil)
        _ = resolve(.failed("silent"), at: 10, mayRetry: false)
        #expect(table.resolvedAt("a.example") == nil)
        #expect(table.askOld(at: at(40)) == [])
        #expect(table.askOld(at: at(41)) == ["a.example"])
        _ = resolve(.notFound, at: 42, mayRetry: false)
        #expect(table.resolvedAt("a.example") == at(42))
        #expect(table.askOld(at: at(72)) == [])
        #expect(table.askOld(at: at(73)) == ["a.example"])
        _ = resolve(.addresses([one]), at: 74)
        #expect(table.askOld(at: at(105)) == ["a.example"])
        _ = resolve(.failed("silent"), at: 106, mayRetry: false)
        #expect(table.resolvedAt("a.example") == at(74))
        #expect(table.knowledge(of: "a.example") == .addresses([one]))
        #expect(!table.isAwaited("a.example", at: at(106)))
        #expect(table.askOld(at: at(137)) == ["a.example"])
        #expect(table.isAwaited("a.example", at: at(137)))
    }

    @Test("a server that refuses at once is not asked by each question, and its retries stay as close as they were")
    mutating func refused() {
        _ = table.add("a.example")
        _ = resolve(.addresses([one]), at: 0)
        #expect(table.askOld(at: at(100)) == ["a.example"])
        _ = resolve(.failed("refused"), at: 100)
        for second: Int64 in 100...130 {
            #expect(table.askOld(at: at(second)) == [])
            #expect(!table.isAwaited("a.example", at: at(second)))
        }
        #expect(table.nextDeadline == at(102))
        #expect(table.askOld(at: at(131)) == ["a.example"])
    }

    @Test("the answer for a name that is watched no more is dropped")
    mutating func gone() {
        _ = table.add("a.example")
        table.remove("a.example")
        let answer = resolve(.addresses([one]))
        #expect(!answer.isChanged && answer.ask.isEmpty)
        #expect(table.askAll() == [])
    }
}
