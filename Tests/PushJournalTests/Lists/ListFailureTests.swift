import CRingwakeSQLite
import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Lists of callers where something fails")
struct ListFailureTests {
    @Test("a disk that fails leaves the lists as they were, aborts the import that it failed in, and is said")
    func failingDisk() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<3))
        let first = try harness.beginImport("spam")
        try harness.append(harness.numbers(0..<100), to: first.id)
        let second = try harness.beginImport("other")
        let lists = try harness.lists()

        disk.plan = { operation, _ in operation == .write ? SQLITE_FULL : nil }
        let error = harness.failure { try harness.append(harness.numbers(100..<200), to: first.id) }
        #expect(error?.message.contains("disk is full") == true)
        #expect(harness.journal.health != .working)
        for attempt in [
            { _ = try harness.change("spam", add: harness.numbers(7..<8), remove: ["+49100000001"]) },
            { _ = try harness.removeList("spam") }, { _ = try harness.createList("new") },
            { _ = try harness.finishImport(second.id) },
        ] as [() throws -> Void] {
            #expect(harness.failure(attempt)?.message.contains("disk is full") == true)
        }
        #expect(harness.log.messages(.error).count == 1)
        #expect(try harness.lists() == lists)
        #expect(try harness.patterns("spam").count == 3)

        disk.plan = { _, _ in nil }
        #expect(harness.failure { try harness.append([], to: first.id) }?.code == .notFound)
        try harness.finishImport(second.id)
        #expect(harness.journal.health == .working)
        #expect(harness.log.messages(.notice) == ["journal writes again"])
        try harness.reopen()
        #expect(harness.contents.lists.map(\.entries) == [0, 3])
    }

    @Test("a log that cannot be moved into the store fails what is asked of the lists, and wakes nobody for ever")
    func stuckLog() throws {
        var limits = JournalLimits()
        (limits.smallLogPages, limits.largeLogPages) = (4, 8)
        let harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        try harness.createList("spam")
        disk.plan = { operation, file in operation == .write && file == "store.db" ? SQLITE_IOERR | (3 << 8) : nil }
        var failures = 0
        for number in 0..<60 {
            if harness.failure({ try harness.change("spam", add: harness.numbers([number])) }) != nil { failures += 1 }
        }
        #expect(failures > 0)
        #expect(harness.journal.statistics.failedCommits <= UInt64(failures))
        disk.plan = { _, _ in nil }
        #expect(try harness.change("spam", add: harness.numbers(100..<101)).entries == 61 - failures)
    }

    @Test("whenever the power fails in an import, the list is the old one or the new one, whole")
    func powerCut() throws {
        var limits = JournalLimits()
        (limits.smallLogPages, limits.largeLogPages) = (10, 20)
        (limits.listStep, limits.scatteredListStep) = (64, 32)
        let harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
        try harness.createList("spam")
        try harness.change("spam", add: harness.numbers(0..<300))
        harness.journal.close()
        let start = DiskImage(of: harness.directory.path)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        let begun = try harness.beginImport("spam")
        for piece in 0..<4 {
            try harness.append(harness.numbers(1_000 + piece * 100..<1_100 + piece * 100), to: begun.id)
            _ = try harness.append(harness.push("\(piece)"))
        }
        let beforeFinish = disk.changes.count
        try harness.finishImport(begun.id)
        let afterFinish = disk.changes.count
        _ = try harness.append(harness.push("last"))
        harness.journal.close()

        let changes = disk.changes
        var moments = Set((0..<6).map { _ in Int.random(in: 0...changes.count) })
        moments.formUnion(beforeFinish...afterFinish)
        var image = start
        for moment in 0...changes.count {
            if moment > 0 { image.apply(changes[moment - 1]) }
            guard moments.contains(moment) else { continue }
            for fate in DiskImage.Fate.allCases {
                let other = try JournalHarness()
                other.journal.close()
                try image.afterPowerCut(fate).write(to: other.directory.path)
                try other.reopen()
                let found = try other.patterns("spam")
                let isNew = found.first == "+49100001000"
                #expect(found.count == (isNew ? 400 : 300))
                #expect(other.contents.lists.map(\.entries) == [found.count])
                #expect(moment < afterFinish || isNew, "what was answered is there")
                #expect(moment > beforeFinish || !isNew)
                other.journal.close()
                let probe = try StoreProbe(other.directory.store)
                #expect(try probe.text("PRAGMA integrity_check") == "ok")
            }
        }
    }

    @Test("rows that no version writes are passed over")
    func spoiled() throws {
        let harness = try JournalHarness()
        try harness.createList("good")
        try harness.change("good", add: harness.numbers(0..<2))
        harness.journal.close()
        do {
            let probe = try StoreProbe(harness.directory.store)
            try probe.run(
                "INSERT INTO list_entry SELECT generation, CAST('*no*pattern*' AS BLOB), x'01' "
                    + "FROM list WHERE name = 'good'")
            try probe.run("INSERT INTO list VALUES ('bad', 'nonsense', NULL, NULL, 0, 5, 77)")
            try probe.run("INSERT INTO list VALUES ('huge', 'block', NULL, NULL, 0, 9223372036854775807, 78)")
            try probe.run("INSERT INTO list_remains VALUES (9), (-1), (9223372036854775806)")
            try probe.run("DELETE FROM list_stamp")
        }
        try harness.reopen()
        #expect(harness.contents.lists.map(\.name) == ["good", "huge"])
        #expect(harness.contents.listGeneration == 0)
        #expect(try harness.patterns("good").count == 2)
        #expect(try harness.rebuildIndex() == 2)
        #expect(harness.failure { try harness.change("good", add: harness.numbers(5..<6)) }?.code == .limitReached)
        try harness.createList("bad")
        try harness.removeList("huge")
        try harness.change("good", add: harness.numbers(5..<6))
        try harness.reopen()
        #expect(harness.contents.listGeneration != 0)
    }
}
