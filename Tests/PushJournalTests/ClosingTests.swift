import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Closing a journal")
struct ClosingTests {
    @Test("everything that waits is written and answered before it is closed, in the order of asking")
    func writesWhatWaits() throws {
        let harness = try JournalHarness()
        var order: [String] = []
        let call = harness.call(1, "A")
        harness.journal.append(harness.push("A"), payload: [], call: call) { order.append("A \($0.isSuccess)") }
        let ringing = call.entering(.ringing, .rang, at: harness.clock.boot)
        harness.journal.appendRing(ringing) { order.append("ring \($0.isSuccess)") }
        harness.journal.pushes(PushQuery()) { order.append("pushes \((try? $0.get())?.count ?? -1)") }
        for number in 0..<600 {
            harness.journal.append(harness.push("p\(number)"), payload: [], call: nil) { _ in }
        }
        harness.journal.append(harness.push("last"), payload: [], call: nil) { order.append("last \($0.isSuccess)") }
        let ended = ringing.ending(.unanswered, at: harness.clock.boot)
        harness.journal.write(ended, .withNext)
        harness.journal.close()
        #expect(order == ["A true", "ring true", "pushes 1", "last true"])
        try harness.reopen()
        #expect(try harness.records() == [ended])
        #expect(harness.journal.statistics.pushes == 602)
    }

    @Test("what is handed in afterwards fails, later, and closing again does nothing")
    func closed() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        harness.journal.close()
        var codes: [RingwakeError.Code] = []
        func note<Value>(_ result: Result<Value, RingwakeError>) {
            if case .failure(let error) = result { codes.append(error.code) }
        }
        harness.journal.append(harness.push("A"), payload: [], call: nil) { note($0) }
        harness.journal.appendRing(harness.call(1, "A")) { note($0) }
        harness.journal.pushes(PushQuery()) { note($0) }
        harness.journal.calls(CallQuery()) { note($0) }
        harness.journal.write(harness.call(1, "A"), .now)
        #expect(codes.isEmpty)
        harness.loop.runOnce(timeout: .zero)
        #expect(codes == [.failed, .failed, .failed, .failed])
    }

    @Test("a completion may close the journal; the others are called all the same")
    func closedFromWithin() throws {
        let harness = try JournalHarness()
        var answered = 0
        for number in 0..<10 {
            harness.journal.append(harness.push("\(number)"), payload: [], call: nil) { _ in
                answered += 1
                if number == 3 { harness.journal.close() }
            }
        }
        harness.run { answered == 10 }
        #expect(answered == 10)
    }

    @Test("a journal that is let go of lets go of its store")
    func letGo() throws {
        let harness = try JournalHarness()
        harness.journal.close()
        do {
            let other = try PushJournal(
                directory: harness.directory.path, runLoop: harness.loop, logger: .init(label: "test"),
                clocks: harness.clock.clocks())
            other.append(harness.push("A"), payload: [], call: nil) { _ in }
        }
        harness.run { (try? harness.reopen()) != nil }
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
