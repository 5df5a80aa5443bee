import CRingwakeLinux
import Glibc
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Keeping the journal small")
struct UpkeepTests {
    /// Journals pushes with their calls, which have ended unless `isOpen` says so.
    private func fill(
        _ harness: JournalHarness, _ numbers: ClosedRange<Int64>, payload: Int = 0,
        isOpen: (Int64) -> Bool = { _ in false }
    ) {
        var left = numbers.count
        for number in numbers {
            let call = harness.call(number, "\(number)")
            let payload = [UInt8](repeating: 1, count: payload)
            harness.journal.append(harness.push("\(number)"), payload: payload, call: call) { _ in left -= 1 }
            if !isOpen(number) { harness.journal.write(call.ending(.declined, at: harness.clock.boot), .withNext) }
        }
        harness.run { left == 0 }
    }

    private func numbers(_ harness: JournalHarness) throws -> [Int64] {
        try harness.calls(CallQuery(limit: 1_000)).map(\.record.number).reversed()
    }

    @Test("of too many the oldest go, step by step, but none of a call that goes on")
    func byCount() throws {
        var limits = JournalLimits()
        limits.maximumPushes = 50
        limits.pruneStep = 10
        let harness = try JournalHarness(limits: limits)
        fill(harness, 1...100) { $0 % 40 == 3 }
        // The next commit is what makes it look.
        harness.run { harness.journal.statistics.pushes < 60 && harness.journal.statistics.calls < 60 }
        let kept = [3, 43] + Array(53...100) as [Int64]
        #expect(try numbers(harness) == kept)
        #expect(try harness.pushes(PushQuery(limit: 1_000)).map(\.push.pushID).reversed() == kept.map(String.init))
        #expect(harness.journal.statistics.pushes == 50)
        try harness.reopen()
        #expect(harness.journal.statistics.pushes == 50)
        #expect(harness.journal.statistics.calls == 50)
        #expect(harness.contents.open.map(\.record.number) == [3, 43, 83])
    }

    @Test("many pushes of one call go when that has ended, and stay while it goes on", arguments: [true, false])
    func manyPushesOfOneCall(isOpen: Bool) throws {
        var limits = JournalLimits()
        limits.maximumPushes = 20
        limits.pruneStep = 5
        let harness = try JournalHarness(limits: limits)
        fill(harness, 1...1) { _ in isOpen }
        var left = 40
        for number in 2...41 {
            let push = harness.push("\(number)", call: "1", outcome: .updated)
            harness.journal.append(push, payload: [], call: nil) { _ in left -= 1 }
        }
        harness.run { left == 0 }
        fill(harness, 50...50)
        if isOpen {
            for _ in 0..<20 { _ = try harness.pushes() }
            #expect(harness.journal.statistics.pushes >= 41)
        } else {
            harness.run { harness.journal.statistics.pushes <= 25 }
            #expect(harness.journal.statistics.pushes >= 20)
        }
        #expect(harness.journal.statistics.calls == 2)
    }

    @Test("what is too old goes, but not what came while the clock was not set, and nothing while it is not")
    func byAge() throws {
        var limits = JournalLimits()
        limits.maximumAge = .seconds(1_000)
        let harness = try JournalHarness(limits: limits)
        let wall = harness.clock.wall
        harness.clock.setWall(5_000)
        fill(harness, 1...2)
        harness.clock.setWall(wall)
        fill(harness, 3...6) { $0 == 5 }
        harness.clock.advance(by: .seconds(990))
        fill(harness, 7...8)
        #expect(try numbers(harness) == Array(1...8))
        // Looked for once an hour only, and then in this boot as well as in another.
        harness.clock.advance(by: .seconds(3_600))
        harness.clock.setWall(1_000)
        fill(harness, 9...9)
        #expect(try numbers(harness) == Array(1...9))
        harness.clock.setWall(wall + 1_500_000)
        fill(harness, 10...10)
        harness.run { harness.journal.statistics.calls == 7 && harness.journal.statistics.pushes == 7 }
        #expect(try numbers(harness) == [1, 2, 5, 7, 8, 9, 10])
        #expect(try harness.pushes().map(\.push.pushID) == ["10", "9", "8", "7", "5", "2", "1"])
    }

    @Test("the file becomes shorter again when much was removed")
    func vacuum() throws {
        var limits = JournalLimits()
        limits.freePages = 16
        limits.vacuumStep = 8
        limits.smallLogPages = 32
        let harness = try JournalHarness(limits: limits)
        fill(harness, 1...400, payload: 4_500) { _ in true }
        harness.run { size(harness) > 1_600_000 }
        for number in 1...400 as ClosedRange<Int64> {
            harness.journal.write(harness.call(number, "\(number)").ending(.declined, at: harness.clock.boot), .now)
        }
        _ = try harness.calls()
        harness.run { size(harness) < 400_000 }
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        #expect(try probe.number("PRAGMA freelist_count") < 24)
        #expect(try probe.text("PRAGMA integrity_check") == "ok")
        #expect(try probe.number("SELECT count(*) FROM call WHERE state = 'ended'") == 400)
    }

    private func size(_ harness: JournalHarness) -> off_t {
        var status = stat()
        return stat(harness.directory.store, &status) == 0 ? status.st_size : 0
    }

    @Test("the log is moved into the store and stays short")
    func log() throws {
        var limits = JournalLimits()
        limits.smallLogPages = 16
        limits.largeLogPages = 64
        let harness = try JournalHarness(limits: limits)
        for round in 0..<40 as Range<Int64> { fill(harness, (round * 20 + 1)...(round * 20 + 20), payload: 500) }
        var status = stat()
        try #require(stat(harness.directory.store + "-wal", &status) == 0)
        #expect(status.st_size < 4_200 * 200)
        #expect(harness.journal.statistics.pushes == 800)
    }

    @Test("no timer runs and nothing wakes the loop when nothing is asked")
    func idle() throws {
        let harness = try JournalHarness()
        fill(harness, 1...10)
        harness.loop.runOnce(timeout: .milliseconds(20))
        let before = harness.loop.statistics.byCause[.journal]
        for _ in 0..<5 { harness.loop.runOnce(timeout: .milliseconds(20)) }
        #expect(harness.loop.statistics.byCause[.journal] == before)
        #expect(harness.loop.statistics.byCause[.timer] == nil)
    }
}
