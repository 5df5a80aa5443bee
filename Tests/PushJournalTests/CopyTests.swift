import FileSystem
import Glibc
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@MainActor @Suite("A copy of a store that is in use")
struct CopyTests {
    private static let noise = [UInt8](repeating: 0x5a, count: 3_000)

    /// A journal with as many calls, whose store has some hundred pages.
    private func filled(_ count: Int = 300, limits: JournalLimits = JournalLimits()) throws -> JournalHarness {
        let harness = try JournalHarness(limits: limits)
        for number in 0..<count { try append(number, to: harness) }
        return harness
    }

    private func append(_ number: Int, to harness: JournalHarness) throws {
        let push = harness.push("\(number)")
        _ = try harness.append(push, payload: Self.noise, call: harness.call(Int64(number) + 1, "\(number)"))
    }

    private func file(_ harness: JournalHarness) throws -> String {
        let path = "\(harness.directory.path)/copy"
        unlink(path)
        try FileSystem.create(path, mode: 0o600)
        return path
    }

    /// The number of pushes in a copy, which is whole.
    private func pushes(in path: String) throws -> Int64 {
        let probe = try StoreProbe(path)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        return try probe.number("SELECT count(*) FROM push")
    }

    @Test("has what is written while it is made")
    func whileWriting() throws {
        var limits = JournalLimits()
        (limits.copyStep, limits.maximumBatch) = (1, 4)
        let harness = try filled(limits: limits)
        let path = try file(harness)
        var (result, percents, answers): (Result<Void, RingwakeError>?, [Int], Int) = (nil, [], 0)
        harness.journal.copy(to: path) {
            percents.append($0)
        } completion: {
            result = $0
        }
        // Submitted with the copy: it has begun when the first of them is written.
        for number in 300..<400 {
            let call = harness.call(Int64(number) + 1, "\(number)")
            harness.journal.append(harness.push("\(number)"), payload: Self.noise, call: call) { _ in answers += 1 }
        }
        harness.run { result != nil && answers == 100 }
        try #require(result).get()
        #expect(percents.count > 20 && percents == percents.sorted())
        #expect(try pushes(in: path) == 400)
        #expect(try harness.append(harness.push("399")) == .repeated)
    }

    @Test("is made of an idle store at once, and again")
    func idle() throws {
        let harness = try filled()
        for _ in 0..<2 {
            let path = try file(harness)
            try harness.wait { harness.journal.copy(to: path, progress: { _ in }, completion: $0) }
            #expect(try pushes(in: path) == 300)
        }
    }

    @Test("follows rows that are removed and pages that are given back meanwhile")
    func shrinking() throws {
        var limits = JournalLimits()
        (limits.copyStep, limits.maximumPushes, limits.pruneStep, limits.freePages, limits.vacuumStep) = (
            4, 400, 16, 0, 8
        )
        let harness = try filled(limits: limits)
        for number in 0..<300 {
            let call = harness.call(Int64(number) + 1, "\(number)").ending(.unanswered, at: harness.clock.boot)
            harness.journal.write(call, .withNext)
        }
        let path = try file(harness)
        var (result, answers): (Result<Void, RingwakeError>?, Int) = (nil, 0)
        harness.journal.copy(to: path) { _ in
        } completion: {
            result = $0
        }
        for number in 300..<900 {
            let call = harness.call(Int64(number) + 1, "\(number)")
            harness.journal.append(harness.push("\(number)"), payload: Self.noise, call: call) { _ in answers += 1 }
        }
        harness.run { result != nil && answers == 600 }
        try #require(result).get()
        #expect(try pushes(in: path) >= 300)
    }

    @Test("is one at a time, and one that was given up makes room for the next")
    func oneAtATime() throws {
        var limits = JournalLimits()
        limits.copyStep = 1
        let harness = try filled(limits: limits)
        let path = try file(harness)
        var first: Result<Void, RingwakeError>?
        harness.journal.copy(to: path) { _ in
        } completion: {
            first = $0
        }
        let error = #expect(throws: RingwakeError.self) {
            try harness.wait { harness.journal.copy(to: path, progress: { _ in }, completion: $0) }
        }
        #expect(error?.code == .inUse)
        harness.journal.cancelCopy()
        let next = try file(harness)
        try harness.wait { harness.journal.copy(to: next, progress: { _ in }, completion: $0) }
        #expect(first == nil)
        #expect(try pushes(in: next) == 300)
    }

    @Test("fails with the journal when that is closed, and where no file is")
    func failures() throws {
        var limits = JournalLimits()
        limits.copyStep = 1
        let harness = try filled(limits: limits)
        #expect(throws: RingwakeError.self) {
            try harness.wait {
                harness.journal.copy(to: "\(harness.directory.path)/nowhere/copy", progress: { _ in }, completion: $0)
            }
        }
        var result: Result<Void, RingwakeError>?
        harness.journal.copy(to: try file(harness)) { _ in
        } completion: {
            result = $0
        }
        // Submitted together: the copy has begun, and not ended.
        harness.journal.close()
        #expect(throws: RingwakeError.self) { try #require(result).get() }
    }

    @Test("that is given up gives the next one none of its answers")
    func cancelled() throws {
        var limits = JournalLimits()
        limits.copyStep = 1
        let harness = try filled(limits: limits)
        for _ in 0..<10 {
            harness.journal.copy(to: try file(harness)) { _ in
            } completion: { _ in
                Issue.record("it was given up")
            }
            harness.loop.runOnce(timeout: .milliseconds(1))
            harness.journal.cancelCopy()
        }
        let path = try file(harness)
        try harness.wait { harness.journal.copy(to: path, progress: { _ in }, completion: $0) }
        #expect(try pushes(in: path) == 300)
    }
}
