import FoundationEssentials
import Logging
import PushGateway
import PushJournal
import RingwakeCore
import RunLoop
import Synchronization
import Testing

@testable import RingwakeDaemon

@Suite("A clock that was ahead")
final class ClockJudgeTests {
    private static let day: Int64 = 86_400_000

    private let directory: String
    private let loop: RunLoop
    private let journal: PushJournal
    private let now = PushGateway.earliestPlausibleTime + 10 * ClockJudgeTests.day
    private let log = Mutex<[String]>([])
    private var isSynchronized = false

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/clock-judge-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        loop = try RunLoop()
        let now = now
        journal = try PushJournal(
            directory: directory, runLoop: loop, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            clocks: JournalClocks(
                wall: { now }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) }, bootID: "test",
                trust: { .none }))
    }

    isolated deinit {
        journal.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A judge of a journal whose newest push is of tomorrow.
    private func makeJudge() -> ClockJudge {
        let judge = ClockJudge(
            journal: journal, logger: Logger(label: "test") { _ in MessageRecorder(add: { self.add($0) }) },
            now: { self.now }, isSynchronized: { self.isSynchronized })
        judge.noteArrival(at: now + ClockJudgeTests.day)
        return judge
    }

    private nonisolated func add(_ message: String) { log.withLock { $0.append(message) } }

    private func count(_ words: String) -> Int { log.withLock { $0.count { $0.contains(words) } } }

    private func accept(_ judge: ClockJudge) -> Result<Void, RingwakeError>? {
        var result: Result<Void, RingwakeError>?
        judge.accept { result = $0 }
        let end = BootClock.now().advanced(by: .seconds(300))
        while result == nil, BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
        return result
    }

    private func moveStore(from former: String, to name: String) throws {
        try FileManager.default.moveItem(atPath: "\(directory)/\(former)", toPath: "\(directory)/\(name)")
    }

    @Test("What the user accepts is in force when the journal has it, and not before")
    func accepted() throws {
        let judge = makeJudge()
        let behind = ClockJudge.Verdict.behind(until: now + ClockJudgeTests.day - 60_000)
        #expect(judge.verdict() == behind)
        try moveStore(from: "store.db", to: "elsewhere")
        guard case .failure = accept(judge) else { throw Failure(text: "it was written to a file that is not there") }
        #expect(judge.verdict() == behind)
        try moveStore(from: "elsewhere", to: "store.db")
        guard case .success = accept(judge) else { throw Failure(text: "it was not written") }
        #expect(judge.verdict() == .right)
        #expect(count("the journal is corrected") == 1)
    }

    @Test("A correction that could not be written is tried again, and the log says so once")
    func triedAgain() throws {
        isSynchronized = true
        let judge = makeJudge()
        try moveStore(from: "store.db", to: "elsewhere")
        for _ in 0..<3 {
            #expect(judge.verdict() == .right)
            settle()
        }
        #expect(count("cannot be corrected yet") == 1)
        try moveStore(from: "elsewhere", to: "store.db")
        _ = judge.verdict()
        settle()
        #expect(count("the journal is corrected") == 1)
        // Nothing is left to do.
        isSynchronized = false
        #expect(judge.verdict() == .right)
    }

    /// Waits until the journal has answered all that it was asked.
    private func settle() {
        var isDone = false
        journal.barrier { _ in isDone = true }
        let end = BootClock.now().advanced(by: .seconds(300))
        while !isDone, BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
        #expect(isDone)
    }

    private struct Failure: Error {
        let text: String
    }
}

private nonisolated struct MessageRecorder: LogHandler {
    let add: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { add(event.message.description) }
}
