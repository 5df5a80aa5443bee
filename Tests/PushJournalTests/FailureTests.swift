import CRingwakeSQLite
import FileSystem
import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Synchronization
import Testing

@Suite("A disk that fails")
struct FailureTests {
    /// A journal on a faulty disk.
    private func makeHarness(limits: JournalLimits = JournalLimits()) throws -> (JournalHarness, FaultyDisk) {
        let harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        // The disk is there from the next opening on.
        try harness.reopen()
        return (harness, disk)
    }

    @Test(
        "a transaction that fails is rolled back whole and said, and the next one works",
        arguments: [
            (FaultyDisk.Operation.write, SQLITE_FULL, "disk is full"),
            (.write, SQLITE_IOERR | (3 << 8), "cannot write"),
            (.sync, SQLITE_IOERR | (4 << 8), "make durable"),
            (.write, SQLITE_READONLY, "can only be read"),
        ])
    func failsAndRecovers(operation: FaultyDisk.Operation, code: Int32, text: String) throws {
        let (harness, disk) = try makeHarness()
        defer { FaultyDisk.unmount(harness.directory.path) }
        var changes: [JournalHealth] = []
        harness.journal.onHealthChange = { changes.append($0) }
        let first = harness.call(1, "A")
        _ = try harness.append(harness.push("A"), call: first)

        disk.plan = { asked, _ in asked == operation ? code : nil }
        var errors: [RingwakeError] = []
        for number in 2...5 as ClosedRange<Int64> {
            let call = harness.call(number, "\(number)")
            harness.journal.append(harness.push("\(number)"), payload: [1], call: call) { result in
                if case .failure(let error) = result { errors.append(error) }
            }
        }
        harness.journal.appendRing(harness.call(9, "9").entering(.ringing, .rang, at: harness.clock.boot)) { result in
            if case .failure(let error) = result { errors.append(error) }
        }
        harness.run { errors.count == 5 }
        #expect(errors.allSatisfy { $0.message.contains(text) && $0.message.contains("store.db") })
        guard case .failing(let since, _) = harness.journal.health else {
            Issue.record("health is \(harness.journal.health)")
            return
        }
        #expect(since == harness.clock.boot)
        // Records of calls are kept; the failure is said once, however often it is met.
        let ended = first.ending(.cancelled, at: harness.clock.boot)
        harness.journal.write(ended, .now)
        #expect(throws: RingwakeError.self) { try harness.append(harness.push("B")) }
        #expect(try harness.records() == [first], "nothing of it was written")
        #expect(harness.log.messages(.error).count == 1)
        #expect(changes.count == 1)
        #expect(harness.journal.statistics.failedCommits >= 2)

        disk.plan = { _, _ in nil }
        #expect(try harness.append(harness.push("3"), call: harness.call(3, "3")) == .new, "the sender's repeat")
        #expect(harness.journal.health == .working)
        #expect(changes.count == 2)
        #expect(harness.log.messages(.notice) == ["journal writes again"])
        #expect(try harness.records() == [harness.call(3, "3"), ended])
        #expect(harness.journal.statistics.pushes == 2)
        #expect(harness.journal.statistics.calls == 2)
        try harness.reopen()
        #expect(try harness.records() == [harness.call(3, "3"), ended])
    }

    @Test(
        "a store that cannot be opened at the start fails all work, and is opened later by itself, with what waited",
        arguments: [
            (FaultyDisk.Operation.write, SQLITE_FULL), (.write, SQLITE_IOERR | (3 << 8)),
            (.sync, SQLITE_IOERR | (4 << 8)),
        ])
    func opensLater(operation: FaultyDisk.Operation, code: Int32) throws {
        let (harness, disk) = try makeHarness()
        defer { FaultyDisk.unmount(harness.directory.path) }
        _ = try harness.append(harness.push("A"), call: harness.call(1, "A"))
        disk.plan = { asked, _ in asked == operation ? code : nil }
        try harness.reopen(bootID: "boot-2")
        #expect(!harness.journal.isOpen && harness.contents.open.isEmpty)
        guard case .failing = harness.journal.health else {
            Issue.record("health is \(harness.journal.health)")
            return
        }
        #expect(throws: RingwakeError.self) { try harness.append(harness.push("B"), call: harness.call(100, "B")) }
        #expect(throws: RingwakeError.self) { try harness.calls() }
        let rung = harness.call(100, "B").entering(.ringing, .rang, at: harness.clock.boot)
        harness.journal.write(rung, .now)
        #expect(harness.log.messages(.error) == ["journal cannot be opened: pushes are answered 503"])

        var found: JournalContents?
        harness.journal.onOpened = { [unowned harness] in found = harness.journal.takeContents() }
        disk.plan = { _, _ in nil }
        // With no more work: the journal tries by itself.
        harness.run { found != nil }
        #expect(harness.journal.isOpen && harness.journal.health == .working)
        #expect(found?.open.map(\.record.number) == [1] && found?.nextCallNumber == 2)
        #expect(try harness.append(harness.push("C")) == .new)
        #expect(try harness.records().map(\.number) == [100, 1])
        #expect(try harness.records().first == rung)
    }

    @Test("a repeated push, which the disk is not needed for, is answered while that fails, and says nothing about it")
    func repeatedWhileFailing() throws {
        let (harness, disk) = try makeHarness()
        defer { FaultyDisk.unmount(harness.directory.path) }
        _ = try harness.append(harness.push("A"))
        _ = try harness.append(harness.push("A"))
        disk.plan = { operation, _ in operation == .write ? SQLITE_FULL : nil }
        for _ in 0..<3 {
            #expect(throws: RingwakeError.self) { try harness.append(harness.push("B")) }
            #expect(try harness.append(harness.push("A")) == .repeated)
            #expect(harness.journal.health != .working)
        }
        #expect(harness.log.messages(.error).count == 1)
        #expect(harness.log.messages(.notice).isEmpty)
    }

    @Test("a store that can only be read is refused, and says what to do")
    func readOnly() throws {
        let (harness, disk) = try makeHarness()
        defer { FaultyDisk.unmount(harness.directory.path) }
        disk.isReadOnly = true
        let error = #expect(throws: RingwakeError.self) { try harness.reopen() }
        #expect(error?.code == .system)
        #expect(error?.message.contains("can only be read") == true)
        disk.isReadOnly = false
        try harness.reopen()
    }

    @Test("records of calls that wait for a disk are bounded; those given up are counted")
    func boundedCalls() throws {
        var limits = JournalLimits()
        limits.maximumWaiting = 10
        let (harness, disk) = try makeHarness(limits: limits)
        defer { FaultyDisk.unmount(harness.directory.path) }
        disk.plan = { operation, _ in operation == .write ? SQLITE_FULL : nil }
        for number in 1...25 as ClosedRange<Int64> {
            harness.journal.write(harness.call(number, "\(number)").ending(.failed, at: harness.clock.boot), .now)
            if number % 5 == 0 { _ = try harness.calls() }
        }
        #expect(!harness.log.messages(.error).filter { $0.contains("given up") }.isEmpty)
        disk.plan = { _, _ in nil }
        #expect(try harness.calls().map(\.record.number) == Array((1...10).reversed()))
    }

    @Test("a store that was moved away takes no push any more, until it is back")
    func moved() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        rename(harness.directory.store, harness.directory.store + ".away")
        let error = #expect(throws: RingwakeError.self) { try harness.append(harness.push("B")) }
        #expect(error?.message.contains("moved") == true)
        rename(harness.directory.store + ".away", harness.directory.store)
        #expect(try harness.append(harness.push("B")) == .repeated)
    }

    @Test("a store whose pages were overwritten is set aside as it is")
    func damaged() throws {
        let harness = try JournalHarness()
        for number in 1...200 as ClosedRange<Int64> {
            harness.journal.append(
                harness.push("\(number)"), payload: [UInt8](repeating: 1, count: 3_000),
                call: harness.call(number, "\(number)")
            ) { _ in }
        }
        _ = try harness.pushes()
        harness.journal.close()
        let pages = try StoreProbe(harness.directory.store).number("PRAGMA page_count")
        try #require(pages > 30)
        let file = open(harness.directory.store, O_RDWR)
        defer { close(file) }
        let noise = (0..<4096).map { _ in UInt8.random(in: 0...255) }
        for page in 2..<pages { pwrite(file, noise, noise.count, off_t(page * 4096)) }
        try harness.reopen()
        #expect(harness.contents.damage.map { $0.contains("was damaged") } == [true])
        var found = noise
        pread(file, &found, found.count, off_t(2 * 4096))
        #expect(found == noise)
    }

    @Test("damage that is found at work costs the commit that found it")
    func damagedAtWork() throws {
        var limits = JournalLimits()
        limits.smallLogPages = 4
        let harness = try JournalHarness(limits: limits)
        for number in 1...600 as ClosedRange<Int64> {
            harness.journal.append(
                harness.push("\(number)"), payload: [UInt8](repeating: 1, count: 3_000),
                call: harness.call(number, "\(number)")
            ) { _ in }
        }
        _ = try harness.pushes()
        // The log is empty, and the file has more pages than the cache.
        try harness.reopen()
        let file = open(harness.directory.store, O_RDWR)
        defer { close(file) }
        var good = [UInt8](repeating: 0, count: 1 << 23)
        good.removeLast(good.count - max(0, pread(file, &good, good.count, 0)))
        let noise = (0..<good.count).map { _ in UInt8.random(in: 0...255) }
        pwrite(file, Array(noise[4_096...]), noise.count - 4_096, 4_096)
        func failure(_ name: String) -> RingwakeError? {
            do throws(any Error) {
                _ = try harness.append(harness.push(name))
                return nil
            } catch {
                return error as? RingwakeError
            }
        }
        var error: RingwakeError?
        for number in 0..<100 where error == nil { error = failure("new-\(number)") }
        #expect(error?.message.contains("damaged") == true)
        // It is set aside, and what could be read of it is in a new store, without a restart.
        #expect(failure("after") == nil)
        #expect(harness.journal.health == .working)
        #expect(try contents(of: "\(harness.directory.path)/damaged").contains("1-store.db"))
        try harness.reopen()
        #expect(try harness.append(harness.push("after")) == .repeated)
    }

    private func contents(of folder: String) throws -> [String] { try FileSystem.entries(of: folder) }

    @Test("a log that cannot be moved into the store stops growing, and is said once")
    func stuckLog() throws {
        var limits = JournalLimits()
        limits.smallLogPages = 8
        limits.largeLogPages = 16
        let (harness, disk) = try makeHarness(limits: limits)
        defer { FaultyDisk.unmount(harness.directory.path) }
        disk.plan = { operation, file in operation == .write && file == "store.db" ? SQLITE_IOERR | (3 << 8) : nil }
        var failures = 0
        for number in 1...60 {
            if (try? harness.append(harness.push("\(number)"))) == nil { failures += 1 }
        }
        #expect(failures > 0)
        #expect(failures < 60)
        #expect(harness.journal.statistics.bytes < 100 * 4_200 * 2)
        #expect(harness.log.messages(.warning).count == 1)
        disk.plan = { _, _ in nil }
        #expect(try harness.append(harness.push("last")) == .new)
        #expect(try harness.pushes(PushQuery(limit: 100)).count == 61 - failures)
    }

    @Test("closing with a disk that hangs returns in time, says so, and fails what waits")
    func hangs() throws {
        var limits = JournalLimits()
        limits.maximumClosing = .milliseconds(50)
        let (harness, disk) = try makeHarness(limits: limits)
        defer { FaultyDisk.unmount(harness.directory.path) }
        let gate = Gate()
        disk.plan = { operation, _ in
            if operation == .sync { gate.wait() }
            return nil
        }
        var results: [Result<PushVerdict, RingwakeError>] = []
        harness.journal.append(harness.push("A"), payload: [], call: nil) { results.append($0) }
        harness.loop.runOnce(timeout: .zero)
        harness.journal.append(harness.push("B"), payload: [], call: nil) { results.append($0) }
        harness.journal.close()
        #expect(results.count == 2)
        #expect(results.allSatisfy { if case .failure(let error) = $0 { error.code == .timedOut } else { false } })
        #expect(harness.log.messages(.error) == ["journal not closed: the disk does not answer"])
        gate.open()
        // The thread ends by itself and lets go of the store.
        harness.limits.maximumClosing = .seconds(10)
        harness.run {
            (try? harness.reopen()) != nil
        }
        #expect(try harness.pushes().map(\.push.pushID) == ["B", "A"])
    }
}

/// Holds threads until it is opened.
nonisolated final class Gate: Sendable {
    private let isOpen = Mutex(false)

    func open() {
        isOpen.withLock { $0 = true }
    }

    func wait() {
        while !isOpen.withLock({ $0 }) { usleep(1_000) }
    }
}
