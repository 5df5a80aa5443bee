import Glibc
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@Suite("Waiting for the disk")
struct TimeoutTests {
    /// A journal whose disk answers no sync until the gate opens.
    private static func hangingDisk() throws -> (JournalHarness, Gate) {
        var limits = JournalLimits()
        limits.maximumSilence = .milliseconds(30)
        let harness = try JournalHarness(limits: limits, vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        try harness.reopen()
        let gate = Gate()
        disk.plan = { operation, _ in
            if operation == .sync { gate.wait() }
            return nil
        }
        return (harness, gate)
    }

    @Test("a disk that does not answer is said, and further pushes are refused until it does")
    func silence() throws {
        let (harness, gate) = try Self.hangingDisk()
        defer { FaultyDisk.unmount(harness.directory.path) }
        var answer: Result<PushVerdict, RingwakeError>?
        harness.journal.append(harness.push("A"), payload: [], call: nil) { answer = $0 }
        harness.run { harness.journal.health != .working }
        #expect(!harness.journal.hasRoom && answer == nil)
        #expect(harness.log.messages(.error) == ["journal cannot write: pushes are answered 503"])
        gate.open()
        harness.run { answer != nil }
        #expect(throws: Never.self) { try answer?.get() }
        #expect(harness.journal.hasRoom && harness.journal.health == .working)
        #expect(try harness.append(harness.push("B")) == .new)
    }

    @Test("a machine that slept while an answer was due wakes up without a silent disk")
    func slept() throws {
        let (harness, gate) = try Self.hangingDisk()
        defer { FaultyDisk.unmount(harness.directory.path) }
        var answer: Result<PushVerdict, RingwakeError>?
        harness.journal.append(harness.push("A"), payload: [], call: nil) { answer = $0 }
        // The commit begins, and the loop turns no more.
        harness.loop.runOnce(timeout: .zero)
        usleep(100_000)
        harness.loop.runOnce(timeout: .zero)
        #expect(harness.journal.health == .working && harness.journal.hasRoom && answer == nil)
        // A disk that does not answer now, either, is silent.
        harness.run { harness.journal.health != .working }
        gate.open()
        harness.run { answer != nil }
        #expect(harness.journal.health == .working)
    }

    @Test("a record that changes nothing is not answered, and that is no silent disk")
    func nothingToAnswer() throws {
        var limits = JournalLimits()
        limits.maximumSilence = .milliseconds(20)
        let harness = try JournalHarness(limits: limits)
        let call = harness.call(1, "one")
        _ = try harness.append(harness.push("A", call: "one"), call: call)
        // When the push became durable is written with this commit, so the next one has nothing of its own.
        harness.journal.write(call, .now)
        _ = try harness.records()
        // Another number for the same call, as of a late repeat: the journal keeps what it has.
        harness.journal.write(harness.call(2, "one").ending(.cancelled, at: harness.clock.boot), .now)
        for _ in 0..<10 { harness.loop.runOnce(timeout: .milliseconds(10)) }
        #expect(harness.journal.hasRoom && harness.journal.health == .working)
        #expect(try harness.records() == [call])
    }

    @Test("a disk that is busy all the time, and answers all the time, is not silent")
    func busy() throws {
        var limits = JournalLimits()
        limits.maximumSilence = .milliseconds(500)
        let harness = try JournalHarness(limits: limits)
        var isRefused = false
        var waits = 0
        // Something waits at every moment, for far longer than a single answer may take.
        let end = BootClock.now().advanced(by: .seconds(2))
        var number = 0
        while BootClock.now() < end || waits > 0 {
            if BootClock.now() < end {
                for _ in 0..<64 where waits < 512 {
                    number += 1
                    waits += 1
                    harness.journal.append(harness.push("\(number)"), payload: [1], call: nil) { _ in waits -= 1 }
                }
            }
            harness.loop.runOnce(timeout: .milliseconds(20))
            if harness.journal.health != .working { isRefused = true }
        }
        #expect(!isRefused && harness.journal.hasRoom)
    }

    @Test("what a failed commit has left is written when the disk works again, though no push comes")
    func retry() throws {
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer { FaultyDisk.unmount(harness.directory.path) }
        try harness.reopen()
        let call = harness.call(1, "A")
        _ = try harness.append(harness.push("A"), call: call)
        disk.plan = { operation, _ in operation == .sync ? FaultyDisk.syncFailure : nil }
        harness.journal.write(call.ending(.declined, at: harness.clock.boot), .now)
        harness.run { harness.journal.health != .working }
        let commits = harness.journal.statistics.commits
        disk.plan = { _, _ in nil }
        harness.run { harness.journal.health == .working }
        #expect(harness.journal.statistics.commits > commits)
        try harness.reopen()
        #expect(harness.contents.open.isEmpty && harness.contents.recent.first?.reason == .declined)
    }

    @Test("a log that was removed takes no push any more: what is written to it is lost")
    func removedLog() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A"))
        unlink(harness.directory.store + "-wal")
        let error = #expect(throws: RingwakeError.self) { try harness.append(harness.push("B")) }
        #expect(error?.message.contains("-wal was moved") == true)
    }

    @Test("a repeated push is about the call that it was about first, whatever it says now")
    func otherCall() throws {
        let harness = try JournalHarness()
        _ = try harness.append(harness.push("A", call: "one"), call: harness.call(1, "one"))
        #expect(try harness.append(harness.push("A", call: "two"), call: harness.call(2, "two")) == .callKnown)
        #expect(try harness.records().map(\.key.id.rawValue) == ["one"])
    }
}
