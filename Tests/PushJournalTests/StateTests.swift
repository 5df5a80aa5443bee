import CRingwakeSQLite
import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("State that outlives the process")
struct StateTests {
    /// The rows at the last opening, as text.
    private func rows(_ harness: JournalHarness) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: harness.contents.states.map { ($0.path, String(decoding: $0.data, as: UTF8.self)) })
    }

    @Test("what was kept is there at the next start: the newest of a path, with its version")
    func comesBack() throws {
        let harness = try JournalHarness()
        #expect(harness.contents.states.isEmpty)
        harness.journal.keep(Array("old".utf8), version: 1, at: "app/a/strikes", .now)
        harness.journal.keep(Array("new".utf8), version: 7, at: "app/a/strikes", .now)
        harness.journal.keep(Array("x".utf8), version: 1, at: "app/b/strikes", .withNext)
        try harness.keep([0, 255, 0], version: .min, at: "device/dnd")
        try harness.keep([], version: 2, at: "call/a/\0/é")
        try harness.reopen()
        #expect(harness.contents.states.map(\.path) == ["app/a/strikes", "app/b/strikes", "call/a/\0/é", "device/dnd"])
        #expect(harness.contents.states.map(\.version) == [7, 1, 2, .min])
        #expect(harness.contents.states.map(\.data) == [Array("new".utf8), [0x78], [], [0, 255, 0]])
        #expect(harness.journal.statistics.states == 4)

        harness.journal.keep(nil, version: 0, at: "app/a/strikes", .now)
        try harness.keep(nil, at: "device/dnd")
        try harness.keep(nil, at: "never/there")
        try harness.reopen()
        #expect(rows(harness) == ["app/b/strikes": "x", "call/a/\0/é": ""])
    }

    @Test("its age is told where it can be known: in this boot, and in another by a wall clock that somebody keeps")
    func age() throws {
        let harness = try JournalHarness()
        try harness.keep([1], at: "a")
        harness.clock.advance(by: .seconds(100))
        try harness.reopen()
        #expect(harness.contents.states.map(\.isOfThisBoot) == [true])
        #expect(harness.contents.states.map(\.age) == [.seconds(100)])
        harness.clock.restart(wall: harness.clock.wall + 50_000)
        try harness.reopen(bootID: "boot-2")
        #expect(harness.contents.states.map(\.isOfThisBoot) == [false])
        #expect(harness.contents.states.map(\.age) == [.seconds(150)])
        harness.clock.setTrust(.none)
        try harness.reopen(bootID: "boot-2")
        #expect(harness.contents.states.map(\.age) == [nil])
    }

    @Test("what has time for 5 ms goes with the next commit, or gets one of its own")
    func soon() throws {
        let harness = try JournalHarness()
        let before = harness.journal.statistics.commits
        harness.journal.keep([1], version: 1, at: "a", .soon)
        _ = try harness.append(harness.push("A"))
        #expect(harness.journal.statistics.states == 1)
        try harness.keep([2], at: "b")
        #expect(harness.journal.statistics.commits == before + 2)
        harness.journal.keep([3], version: 1, at: "c", .soon)
        harness.run { harness.journal.statistics.states == 3 }
        try harness.reopen()
        #expect(harness.contents.states.map(\.path) == ["a", "b", "c"])
    }

    @Test("rows that are made when work is submitted are made in time, and what is submitted at once needs no loop")
    func rowsOfATurn() throws {
        let harness = try JournalHarness()
        var made = 0
        harness.journal.beforeSubmission = { [journal = harness.journal] in
            made += 1
            journal.keep([UInt8(made)], version: 1, at: "row", .withNext)
        }
        harness.journal.require(.soon)
        #expect(made == 0)
        harness.run { harness.journal.statistics.states == 1 }
        #expect(made == 1)

        var verdict: Result<PushVerdict, RingwakeError>?
        harness.journal.append(harness.push("A"), payloads: [], call: nil) { verdict = $0 }
        harness.journal.submitNow()
        // The loop stands still: the journal's thread has all that it needs.
        for _ in 0..<12_000 where harness.journal.statistics.pushes == 0 { usleep(10_000) }
        #expect(harness.journal.statistics.pushes == 1 && made == 2 && verdict == nil)
        // The others of a burst go together at the end of the turn: rows are not made for each.
        var answered = 0
        for name in ["B", "C", "D"] {
            harness.journal.append(harness.push(name), payloads: [], call: nil) { _ in answered += 1 }
            harness.journal.submitNow()
        }
        #expect(made == 2)
        harness.run { answered == 3 }
        #expect(made == 3)
        harness.journal.beforeSubmission = nil
    }

    @Test("a row is as old as its handing in, also when the disk took it later")
    func ageAfterFailure() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        disk.plan = { operation, _ in operation == .sync ? SQLITE_IOERR | (4 << 8) : nil }
        harness.journal.keep([1], version: 1, at: "a", .now)
        harness.waitForHealth { $0 != .working }
        harness.clock.advance(by: .seconds(30))
        disk.plan = { _, _ in nil }
        _ = try harness.append(harness.push("A"))
        try harness.reopen()
        #expect(harness.contents.states.map(\.age) == [.seconds(30)])
    }

    @Test("a row goes with the pushes of its turn in one commit; one that can wait makes none")
    func oneCommit() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("first"))
        let commits = harness.journal.statistics.commits
        harness.journal.keep([1], version: 1, at: "waits", .withNext)
        harness.loop.runOnce(timeout: .milliseconds(30))
        #expect(harness.journal.statistics.commits == commits)
        var done = 0
        harness.journal.append(harness.push("A"), payload: [1], call: harness.call(1, "A")) { _ in done += 1 }
        harness.journal.keep([2], version: 1, at: "call/phone/A", .now)
        harness.journal.keep([3], version: 1, at: "app/phone/blob") { _ in done += 1 }
        harness.run { done == 2 }
        #expect(harness.journal.statistics.commits == commits + 1)
        #expect(harness.journal.statistics.states == 3)
    }

    @Test("a row that somebody waits for and cannot be written stays as it was; one that nobody waits for comes later")
    func failingDisk() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        try harness.keep([1], at: "blob")
        disk.plan = { operation, _ in operation == .write ? SQLITE_FULL : nil }
        #expect(harness.failure { try harness.keep([2], at: "blob") }?.message.contains("disk is full") == true)
        harness.journal.keep([3], version: 1, at: "snapshot", .now)
        harness.journal.setAside("blob-that-is-not-there", reason: "no reason")
        #expect(harness.failure { try harness.keep(nil, at: "blob") } != nil)
        disk.plan = { _, _ in nil }
        // The journal tries again by itself.
        harness.run { harness.journal.statistics.states == 2 }
        try harness.reopen()
        #expect(harness.contents.states.map(\.data) == [[1], [3]])
    }

    @Test("the newest wins, in whatever way it was handed in")
    func newestWins() throws {
        let harness = try JournalHarness()
        harness.journal.keep([1], version: 1, at: "a", .withNext)
        try harness.keep([2], at: "a")
        try harness.reopen()
        #expect(harness.contents.states.map(\.data) == [[2]])
        var isDone = false
        harness.journal.keep([3], version: 1, at: "a") { _ in isDone = true }
        harness.journal.keep([4], version: 1, at: "a", .now)
        harness.run { isDone }
        try harness.reopen()
        #expect(harness.contents.states.map(\.data) == [[4]])
    }

    @Test("what cannot be read is set aside, stays in the store, and is not met again")
    func setAside() throws {
        let harness = try JournalHarness()
        try harness.keep([1, 2], version: 9, at: "call/a/1")
        try harness.keep([3], at: "call/a/2")
        try harness.reopen()
        harness.journal.setAside("call/a/1", reason: "its version is 9")
        harness.journal.setAside("call/a/2", reason: "it is no JSON")
        harness.journal.setAside("call/a/3", reason: "it is not there")
        harness.journal.keep([7], version: 1, at: "call/a/2", .now)
        harness.run { harness.log.messages(.warning).count == 2 }
        #expect(harness.journal.statistics.states == 1)
        try harness.reopen()
        #expect(harness.contents.states.map(\.path) == ["call/a/2"])
        #expect(harness.contents.states.map(\.data) == [[7]])
        harness.journal.close()
        let probe = try StoreProbe(harness.directory.store)
        let path = "aside/\(harness.clock.wall)/call/a/1"
        #expect(try probe.text("SELECT reason FROM state WHERE path = '\(path)'") == "its version is 9")
        #expect(try probe.number("SELECT version FROM state WHERE path = '\(path)'") == 9)
    }

    @Test("of rows set aside the newest are kept, and none longer than a call")
    func asideIsBounded() throws {
        let harness = try JournalHarness()
        for number in 0..<40 {
            try harness.keep([UInt8(number)], at: "row")
            harness.journal.setAside("row", reason: "\(number)")
            harness.run { harness.log.messages(.warning).count == number + 1 }
            harness.clock.advance(by: .milliseconds(1))
        }
        harness.clock.advance(by: .seconds(40 * 24 * 3600))
        try harness.keep([1], at: "young")
        harness.journal.setAside("young", reason: "young")
        harness.journal.close()
        let aside = try StoreProbe(harness.directory.store).number("SELECT count(*) FROM state")
        #expect(aside == 1 || aside == 32, "the old ones may have gone already")
        // It tidies up when nothing waits, which closing does not wait for.
        harness.run {
            harness.journal.close()
            let left = try? StoreProbe(harness.directory.store).text("SELECT group_concat(reason) FROM state")
            return left == "young" || (try? harness.reopen()) == nil
        }
        #expect(try StoreProbe(harness.directory.store).text("SELECT group_concat(reason) FROM state") == "young")
    }

    @Test("a path that may not be and data that is too long are refused")
    func refused() throws {
        var limits = JournalLimits()
        limits.maximumStateBytes = 100
        let harness = try JournalHarness(limits: limits)
        for path in ["", "aside/1/a", String(repeating: "p", count: 2_049)] {
            #expect(harness.failure { try harness.keep([1], at: path) }?.code == .invalidRequest)
            harness.journal.keep([1], version: 1, at: path, .now)
            harness.journal.setAside(path, reason: "none")
        }
        #expect(harness.failure { try harness.keep([UInt8](repeating: 1, count: 101), at: "a") }?.code == .limitReached)
        harness.journal.keep([UInt8](repeating: 1, count: 101), version: 1, at: "a", .now)
        #expect(harness.log.messages(.error) == Array(repeating: "state not kept", count: 4))
        try harness.keep([UInt8](repeating: 1, count: 100), at: String(repeating: "p", count: 2_048))
        #expect(harness.journal.statistics.states == 1)
    }

    @Test("the store takes as many rows and bytes as it may; a row may become smaller or go even then")
    func fullStore() throws {
        var limits = JournalLimits()
        limits.maximumStates = 5
        limits.maximumStatesBytes = 100
        let harness = try JournalHarness(limits: limits)
        for number in 0..<4 { try harness.keep([UInt8](repeating: 1, count: 20), at: "\(number)") }
        #expect(harness.failure { try harness.keep([UInt8](repeating: 1, count: 21), at: "4") }?.code == .limitReached)
        #expect(harness.failure { try harness.keep([UInt8](repeating: 1, count: 41), at: "0") }?.code == .limitReached)
        try harness.keep([], at: "4")
        #expect(harness.failure { try harness.keep([], at: "5") }?.code == .limitReached)
        harness.journal.keep([], version: 1, at: "6", .now)
        harness.run { harness.log.messages(.error).count == 1 }
        try harness.reopen()
        #expect(harness.contents.states.count == 5)
        try harness.keep([UInt8](repeating: 1, count: 19), at: "0")
        try harness.keep(nil, at: "1")
        try harness.keep([UInt8](repeating: 1, count: 41), at: "0")
        try harness.keep([UInt8](repeating: 1, count: 19), at: "7")
        #expect(harness.failure { try harness.keep([UInt8](repeating: 1, count: 20), at: "7") }?.code == .limitReached)
        #expect(harness.journal.statistics.states == 5)
    }

    @Test("rows that wait for a disk are bounded, and those given up are counted")
    func boundedWaiting() throws {
        var limits = JournalLimits()
        limits.maximumStates = 10
        limits.maximumStatesBytes = 1_000
        let harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        disk.plan = { operation, _ in operation == .write ? SQLITE_FULL : nil }
        for number in 0..<25 {
            harness.journal.keep([UInt8](repeating: 1, count: 90), version: 1, at: "\(number)", .now)
            if number % 5 == 0 { _ = try harness.calls() }
        }
        var errors: [RingwakeError] = []
        for number in 0..<12 {
            harness.journal.keep([UInt8](repeating: 1, count: 90), version: 1, at: "w\(number)") { result in
                if case .failure(let error) = result { errors.append(error) }
            }
        }
        harness.run { errors.count == 12 }
        #expect(errors.filter { $0.code == .limitReached }.count == 2)
        #expect(!harness.log.messages(.error).filter { $0.contains("given up") }.isEmpty)
        disk.plan = { _, _ in nil }
        _ = try harness.append(harness.push("A"))
        #expect(harness.journal.statistics.states == 10)
    }

    @Test("rows that no version writes, too large or too many, are set aside at the start")
    func spoiled() throws {
        var limits = JournalLimits()
        limits.maximumStates = 3
        limits.maximumStateBytes = 50
        let harness = try JournalHarness(limits: limits)
        harness.journal.close()
        for (path, size) in [("a", 51), ("b", 50), ("c", 1), ("d", 1), ("e", 1), ("f", 1), ("aside/1/x", 60)] {
            try StoreProbe(harness.directory.store).run(
                "INSERT INTO state (path, version, boot, written_boot, written_wall, data) "
                    + "VALUES ('\(path)', 1, \(Int64.max), \(Int64.min), \(Int64.max), CAST(x'01000000000000' || zeroblob(\(size)) AS BLOB))"
            )
        }
        try harness.reopen()
        #expect(harness.contents.states.map(\.path) == ["b", "c", "d"])
        harness.run { harness.log.messages(.warning).count == 3 }
        try harness.reopen()
        #expect(harness.contents.states.map(\.path) == ["b", "c", "d"])
        #expect(harness.log.messages(.warning).count == 3)
        #expect(harness.failure { try harness.keep([1], at: "z") }?.code == .limitReached)
        try harness.keep(nil, at: "b")
        try harness.keep([1], at: "z")
    }

    @Test("after the journal is closed nothing is kept, and who waits is told")
    func closed() throws {
        let harness = try JournalHarness()
        harness.journal.keep([1], version: 1, at: "a", .withNext)
        harness.journal.close()
        var code: RingwakeError.Code?
        harness.journal.keep([2], version: 1, at: "a") { result in
            if case .failure(let error) = result { code = error.code }
        }
        harness.journal.keep([3], version: 1, at: "a", .now)
        harness.journal.setAside("a", reason: "none")
        harness.run { code != nil }
        #expect(code == .failed)
        try harness.reopen()
        #expect(harness.contents.states.map(\.data) == [[1]])
    }
}
