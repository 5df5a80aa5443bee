import CRingwakeSQLite
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Synchronization
import Testing

@Suite("Power cuts")
struct PowerCutTests {
    /// A journal on a disk that is recorded, and what was promised to be on it.
    private final class Recording {
        let harness: JournalHarness
        let disk: FaultyDisk
        let start: DiskImage
        /// Pushes that were answered, with how much had been done to the disk by then.
        private(set) var promised: [(pushID: String, after: Int)] = []

        init(limits: JournalLimits) throws {
            harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
            harness.journal.close()
            start = DiskImage(of: harness.directory.path)
            disk = FaultyDisk.mount(on: harness.directory.path)
            try harness.reopen()
        }

        isolated deinit {
            harness.journal.close()
            FaultyDisk.unmount(harness.directory.path)
        }

        /// Hands in pushes at once, waits for all, and notes those that were answered.
        func append(_ names: [String], firstNumber: Int64) {
            var left = names.count
            for (index, name) in names.enumerated() {
                let call = harness.call(firstNumber + Int64(index), name)
                harness.journal.append(harness.push(name), payload: [UInt8](repeating: 7, count: 600), call: call) {
                    left -= 1
                    if case .success = $0 { self.promised.append((name, self.disk.changes.count)) }
                }
            }
            harness.run { left == 0 }
        }
    }

    /// Opens what is left after a power cut and looks for what was promised by then.
    private func check(_ image: DiskImage, holds names: [String], _ what: String) throws {
        let directory = try TemporaryDirectory()
        try image.write(to: directory.path)
        let journal = try PushJournal(
            directory: directory.path, runLoop: RunLoop(), logger: Logger(label: "test"), clocks: TestClock().clocks())
        let found = Set(journal.takeContents().open.map(\.record.key.id.rawValue))
        #expect(found.isSuperset(of: names), "\(what): \(Set(names).subtracting(found).sorted()) are lost")
        journal.close()
        let probe = try StoreProbe(directory.store)
        #expect(try probe.text("PRAGMA integrity_check") == "ok", "\(what)")
        #expect(try probe.number("SELECT count(*) FROM push") == Int64(found.count), "\(what)")
        #expect(try probe.number("SELECT count(*) FROM payload") == Int64(found.count), "\(what)")
    }

    private func check(_ recording: Recording, cuts: Int) throws {
        let changes = recording.disk.changes
        var image = recording.start
        // Each time that something was promised, and at random.
        var moments = Set(recording.promised.map(\.after))
        for _ in 0..<cuts { moments.insert(.random(in: 0...changes.count)) }
        for moment in 0...changes.count {
            if moment > 0 { image.apply(changes[moment - 1]) }
            guard moments.contains(moment) else { continue }
            let names = recording.promised.filter { $0.after <= moment }.map(\.pushID)
            for fate in DiskImage.Fate.allCases {
                try check(image.afterPowerCut(fate), holds: names, "cut after \(moment) of \(changes.count), \(fate)")
            }
        }
    }

    private func smallLogs() -> JournalLimits {
        var limits = JournalLimits()
        limits.smallLogPages = 30
        limits.largeLogPages = 60
        return limits
    }

    @Test("whenever the power fails, what was answered is there, whole, and nothing is half there")
    func anywhere() throws {
        let recording = try Recording(limits: smallLogs())
        for round in 0..<12 as Range<Int64> {
            let count = Int64.random(in: 1...6)
            recording.append((0..<count).map { "\(round)-\($0)" }, firstNumber: round * 10 + 1)
        }
        recording.harness.journal.close()
        try check(recording, cuts: 60)
    }

    @Test("also when the disk refuses now and then to write, or loses what it was to make durable")
    func withFailures() throws {
        let recording = try Recording(limits: smallLogs())
        recording.disk.plan = { operation, _ in
            switch operation {
            case .sync: Int.random(in: 0..<3) == 0 ? SQLITE_IOERR | (4 << 8) : nil
            case .write: Int.random(in: 0..<100) == 0 ? [SQLITE_FULL, SQLITE_IOERR | (3 << 8)].randomElement() : nil
            case .truncate: Int.random(in: 0..<4) == 0 ? SQLITE_IOERR | (6 << 8) : nil
            }
        }
        for round in 0..<40 as Range<Int64> {
            let count = Int64.random(in: 1...4)
            recording.append((0..<count).map { "\(round)-\($0)" }, firstNumber: round * 10 + 1)
        }
        recording.harness.journal.close()
        #expect(recording.harness.journal.statistics.failedCommits > 0)
        #expect(!recording.promised.isEmpty)
        try check(recording, cuts: 60)
    }

    @Test("a process that begins after a sync has failed builds on nothing that is not on the disk")
    func restartAfterFailedSync() throws {
        let recording = try Recording(limits: smallLogs())
        recording.append(["A", "B"], firstNumber: 1)
        recording.disk.plan = { operation, _ in operation == .sync ? SQLITE_IOERR | (4 << 8) : nil }
        // Refused; but its frames are in the file as far as anybody can read.
        recording.append(["C", "D", "E"], firstNumber: 3)
        #expect(recording.promised.map(\.pushID) == ["A", "B"])
        var image = recording.start
        for change in recording.disk.changes { image.apply(change) }
        let durable = image.afterPowerCut(.lost)

        // kill -9, and a new process on the files as they look.
        let directory = try TemporaryDirectory()
        try DiskImage(of: recording.harness.directory.path).write(to: directory.path)
        let disk = FaultyDisk.mount(on: directory.path)
        defer { FaultyDisk.unmount(directory.path) }
        let harness = recording.harness
        let journal = try PushJournal(
            directory: directory.path, runLoop: harness.loop, logger: Logger(label: "test"), limits: smallLogs(),
            clocks: harness.clock.clocks(), vfs: FaultyDisk.vfs)
        let found = journal.takeContents().open.map(\.record.key.id.rawValue)
        #expect(found.count == 5, "what this test is about: the new process sees what the old one was refused")
        let opened = disk.changes.count
        var answer: Result<PushVerdict, RingwakeError>?
        journal.append(harness.push("F"), payload: [1], call: harness.call(6, "F")) { answer = $0 }
        harness.run { answer != nil }
        journal.close()

        image = durable
        for (index, change) in disk.changes.enumerated() {
            image.apply(change)
            // Once it is open, what it found is promised too.
            let names = ["A", "B"] + (index >= opened - 1 ? found : [])
            for fate in DiskImage.Fate.allCases {
                try check(image.afterPowerCut(fate), holds: names, "cut after \(index + 1) of the second, \(fate)")
            }
        }
    }
}
