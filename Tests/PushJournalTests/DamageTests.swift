import CRingwakeSQLite
import FileSystem
import Glibc
import PushJournal
import RingwakeCore
import Synchronization
import Testing

@MainActor @Suite("Damage and loss of the store")
struct DamageTests {
    /// The files of a running journal, as a kill leaves them, in a folder of their own.
    private func killed(_ harness: JournalHarness, without names: Set<String> = []) throws -> JournalHarness {
        let copy = try JournalHarness()
        copy.journal.close()
        for name in ["store.db", "store.db-wal", "store.seal"] {
            let target = "\(copy.directory.path)/\(name)"
            if FileSystem.exists(target) { try FileSystem.remove(target) }
            guard !names.contains(name) else { continue }
            let source = "\(harness.directory.path)/\(name)"
            try FileSystem.replace(target, with: try FileSystem.read(source, maximumSize: 1 << 26), mode: 0o600)
        }
        return copy
    }

    private func filled(_ pushes: Int) throws -> JournalHarness {
        let harness = try JournalHarness()
        for number in 0..<pushes { _ = try harness.append(harness.push("\(number)")) }
        return harness
    }

    @Test("a kill loses nothing, and nothing is reported")
    func kill() throws {
        let copy = try killed(filled(60))
        try copy.reopen()
        #expect(copy.contents.damage.isEmpty)
        #expect(try copy.append(copy.push("59")) == .repeated)
    }

    @Test("a removed log is reported, with what it costs; once, and in a note that stays")
    func removedLog() throws {
        let copy = try killed(filled(60), without: ["store.db-wal"])
        try copy.reopen()
        #expect(copy.contents.damage.map { $0.contains("its newest 60 pushes are lost") } == [true])
        try copy.reopen()
        #expect(copy.contents.damage.isEmpty)
        let cases = try DamageFolder(stateDirectory: copy.directory.path).cases()
        #expect(cases.map { $0.why.contains("newest 60 pushes") } == [true])
    }

    @Test("a push that failed is none that can be lost")
    func failedPushIsNoLoss() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        for number in 0..<3 { _ = try harness.append(harness.push("\(number)")) }
        disk.plan = { operation, _ in operation == .sync ? FaultyDisk.syncFailure : nil }
        #expect(throws: RingwakeError.self) { try harness.append(harness.push("failed")) }
        disk.plan = { _, _ in nil }
        try harness.keep([1], at: "device/dnd")
        let copy = try killed(harness, without: ["store.db-wal"])
        try copy.reopen()
        #expect(copy.contents.damage.map { $0.contains("its newest 3 pushes are lost") } == [true])
        #expect(try harness.append(harness.push("next")) == .new)
        #expect(try harness.pushes().map(\.sequence) == [4, 3, 2, 1])
    }

    @Test("a log that was cut is reported, with what it costs")
    func cutLog() throws {
        let copy = try killed(filled(60))
        let log = "\(copy.directory.path)/store.db-wal"
        truncate(log, off_t(try FileSystem.size(ofFile: log) / 2))
        try copy.reopen()
        let damage = try #require(copy.contents.damage.first)
        #expect(damage.contains("pushes are lost") && !damage.contains("newest 60"))
    }

    @Test("a former copy of the whole store is reported, although it is in order")
    func formerCopy() throws {
        let harness = try filled(3)
        harness.journal.close()
        let store = try FileSystem.read(harness.directory.store, maximumSize: 1 << 26)
        try harness.reopen()
        _ = try harness.append(harness.push("later"))
        harness.journal.close()
        try FileSystem.replace(harness.directory.store, with: store, mode: 0o600)
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("its newest 1 pushes are lost") } == [true])
    }

    @Test("without a seal, or with a damaged one, nothing is known and nothing is reported", arguments: [true, false])
    func noSeal(isRemoved: Bool) throws {
        let copy = try killed(filled(3), without: ["store.seal"])
        if !isRemoved {
            try FileSystem.replace("\(copy.directory.path)/store.seal", with: Array("1 2 3".utf8), mode: 0o600)
        }
        try copy.reopen()
        #expect(copy.contents.damage.isEmpty)
        #expect(try copy.append(copy.push("2")) == .repeated)
    }

    @Test("a seal that lags, as after a power cut, is no loss")
    func laggingSeal() throws {
        let harness = try filled(3)
        let seal = try FileSystem.read("\(harness.directory.path)/store.seal", maximumSize: 1 << 10)
        for number in 10..<20 { _ = try harness.append(harness.push("\(number)")) }
        let copy = try killed(harness)
        try FileSystem.replace("\(copy.directory.path)/store.seal", with: seal, mode: 0o600)
        try copy.reopen()
        #expect(copy.contents.damage.isEmpty)
        #expect(try copy.append(copy.push("19")) == .repeated)
    }

    @Test("one damaged page costs its rows only, and the calls that go on are still there")
    func onePage() throws {
        let harness = try JournalHarness()
        for number in 0..<400 {
            let push = harness.push("\(number)")
            _ = try harness.append(push, call: harness.call(Int64(number) + 1, "\(number)"))
        }
        harness.journal.close()
        let size = try FileSystem.size(ofFile: harness.directory.store)
        let file = open(harness.directory.store, O_RDWR)
        pwrite(file, [UInt8](repeating: 0xa5, count: 4_096), 4_096, off_t(size / 2 / 4_096 * 4_096))
        close(file)
        try harness.reopen()
        let damage = try #require(harness.contents.damage.first)
        #expect(damage.contains("copied into a new store"))
        #expect(harness.contents.open.count > 300)
        #expect(harness.journal.statistics.pushes > 300)
        try harness.reopen()
        #expect(harness.contents.damage.isEmpty)
    }

    @Test(
        "a file that somebody writes to is found before the next commit, not at the next start",
        arguments: ["store.db", "store.db-wal"], [[UInt8](repeating: 0, count: 16_384), Array("not a store".utf8)])
    func overwritten(name: String, bytes: [UInt8]) throws {
        let harness = try filled(50)
        // What the log has, the store need not have.
        if name == "store.db" { try harness.reopen() }
        OutsideWriter.write(bytes, to: "\(harness.directory.path)/\(name)", at: name == "store.db" ? 0 : 8_192)
        try expectFound(harness)
    }

    /// The damage is found before a commit succeeds: by that commit, which then fails, or by the upkeep before it.
    private func expectFound(_ harness: JournalHarness) throws {
        do {
            #expect(try harness.append(harness.push("found")) == .new)
        } catch is RingwakeError {
            #expect(try harness.append(harness.push("found")) == .new)
        }
        #expect(try DamageFolder(stateDirectory: harness.directory.path).cases().count == 1)
        #expect(harness.journal.health == .working)
        try harness.reopen()
        #expect(try harness.append(harness.push("found")) == .repeated)
    }

    @Test("a log that somebody cuts is found before the next commit", arguments: [0, 2])
    func cutWhileRunning(part: Int) throws {
        let harness = try filled(50)
        let log = "\(harness.directory.path)/store.db-wal"
        truncate(log, part == 0 ? 0 : off_t(try FileSystem.size(ofFile: log) / part))
        try expectFound(harness)
        let cases = try DamageFolder(stateDirectory: harness.directory.path).cases()
        #expect(cases.map { $0.why.contains("was cut") && $0.why.contains("pushes are lost") } == [true])
    }

    @Test("damage that a failing disk hides at first is found before the next commit that succeeds")
    func checkThatFails() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        for number in 0..<300 { _ = try harness.append(harness.push("\(number)")) }
        harness.journal.close()
        let page = try oldPage(harness)
        try harness.reopen()
        // One that no commit reads.
        disk.readFailure = { $0 == "store.db" ? SQLITE_IOERR | (1 << 8) : nil }
        OutsideWriter.write([UInt8](repeating: 0xff, count: 4_096), to: harness.directory.store, at: (page - 1) * 4_096)
        #expect(throws: RingwakeError.self) { try harness.append(harness.push("unchecked")) }
        disk.readFailure = { _ in nil }
        try expectFound(harness)
    }

    /// A page of the store with the oldest pushes.
    private func oldPage(_ harness: JournalHarness) throws -> Int64 {
        let page = try StoreProbe(harness.directory.store)
            .number("SELECT pageno FROM dbstat WHERE name = 'push' AND pagetype = 'leaf' ORDER BY path LIMIT 1")
        try #require(page > 2)
        return page
    }

    @Test("a file that was only touched is read once, and goes on")
    func touched() throws {
        let harness = try filled(50)
        OutsideWriter.touch(harness.directory.store)
        #expect(try harness.append(harness.push("after")) == .new)
        #expect(try DamageFolder(stateDirectory: harness.directory.path).cases().isEmpty)
    }

    @Test("damage that no time shows is found by the check of pages, after so many commits")
    func silentDamage() throws {
        let harness = try filled(300)
        harness.journal.close()
        let page = try oldPage(harness)
        try harness.reopen()
        // One that no commit reads.
        OutsideWriter.write(
            [UInt8](repeating: 0xff, count: 4_096), to: harness.directory.store, at: (page - 1) * 4_096, isSeen: false)
        for number in 1_000..<1_200 {
            // The one that the damage is found at fails.
            do { _ = try harness.append(harness.push("\(number)")) } catch { continue }
        }
        harness.run { (try? DamageFolder(stateDirectory: harness.directory.path).cases().isEmpty) == false }
        #expect(try harness.append(harness.push("last")) == .new)
    }

    @Test("while no new store can be made, the damaged one stays where it is, however often that is tried")
    func failedReplacement() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        harness.journal.close()
        let text = [UInt8](repeating: 0x41, count: 5_000)
        try FileSystem.replace(harness.directory.store, with: text, mode: 0o600)
        disk.plan = { _, _ in SQLITE_IOERR | (3 << 8) }
        for _ in 0..<3 {
            try harness.reopen()
            #expect(!harness.journal.isOpen)
            #expect(try FileSystem.read(harness.directory.store, maximumSize: 1 << 20) == text)
        }
        #expect(try DamageFolder(stateDirectory: harness.directory.path).cases().isEmpty)
        disk.plan = { _, _ in nil }
        try harness.reopen()
        #expect(try DamageFolder(stateDirectory: harness.directory.path).cases().count == 1)
        #expect(try harness.append(harness.push("A")) == .new)
    }

    @Test("on a full disk the oldest history gives way, and the push is taken")
    func fullDisk() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        for number in 0..<20 { _ = try harness.append(harness.push("\(number)")) }
        let failures = Mutex(2)
        disk.plan = { operation, file in
            guard operation == .write, file == "store.db-wal" else { return nil }
            return failures.withLock { left in
                left -= 1
                return left >= 0 ? SQLITE_FULL : nil
            }
        }
        #expect(try harness.append(harness.push("new")) == .new)
        #expect(harness.journal.statistics.gaveWay > 0)
        disk.plan = { _, _ in SQLITE_FULL }
        #expect(throws: RingwakeError.self) { try harness.append(harness.push("refused")) }
        disk.plan = { _, _ in nil }
        #expect(try harness.append(harness.push("refused")) == .new)
    }

    @Test("what a clock that was ahead has written counts as of now, also at the next start")
    func correctedTimes() throws {
        let harness = try JournalHarness()
        let right = harness.clock.wall
        harness.clock.setWall(right + 400 * 86_400_000)
        _ = try harness.append(harness.push("ahead"))
        harness.clock.setWall(right)
        try harness.wait { harness.journal.correctTimes(right, completion: $0) }
        try harness.reopen()
        #expect(harness.contents.newestWallClock == right)
        #expect(try harness.pushes().map(\.receivedWallClock) == [right])
    }
}
