import DataProtection
import Logging
import PushJournal
import RingwakeCore
import RunLoop
import StoreMigration
import Synchronization
import Testing

/// A loop, a clock and a directory with a journal in it, which may be closed and opened again.
final class JournalHarness {
    let loop: RunLoop
    let clock = TestClock()
    let directory: TemporaryDirectory
    let log = LogLines()
    let vfs: String?
    var limits: JournalLimits
    /// The versions of the store that the program has from the next start on; nil for those that it really has.
    var versions: StoreVersions?
    /// The keys that the program has at the next start.
    var keys = KeyRing.off
    private(set) var journal: PushJournal
    private(set) var contents: JournalContents
    private var isOpen = true

    init(limits: JournalLimits = JournalLimits(), vfs: String? = nil) throws {
        loop = try RunLoop()
        directory = try TemporaryDirectory()
        self.limits = limits
        self.vfs = vfs
        journal = try Self.open(directory.path, loop, clock.clocks(), limits, vfs, nil, .off, log)
        contents = journal.takeContents()
    }

    isolated deinit {
        journal.close()
    }

    private static func open(
        _ directory: String, _ loop: RunLoop, _ clocks: JournalClocks, _ limits: JournalLimits, _ vfs: String?,
        _ versions: StoreVersions?, _ keys: KeyRing, _ log: LogLines
    ) throws(RingwakeError) -> PushJournal {
        let logger = Logger(label: "test") { _ in LogRecorder(lines: log) }
        return try PushJournal(
            directory: directory, runLoop: loop, logger: logger, limits: limits, clocks: clocks, vfs: vfs,
            versions: versions, keys: keys)
    }

    /// Closes the journal and opens it again, in this boot or in another.
    func reopen(bootID: String = "boot-1") throws {
        journal.close()
        journal = try Self.open(directory.path, loop, clock.clocks(bootID: bootID), limits, vfs, versions, keys, log)
        contents = journal.takeContents()
    }

    /// Turns the loop until the condition holds; a test that waits for five minutes hangs.
    func run(until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        let end = BootClock.now().advanced(by: .seconds(300))
        while !condition() {
            guard BootClock.now() < end else {
                Issue.record("the condition never held", sourceLocation: sourceLocation)
                return
            }
            loop.runOnce(timeout: .milliseconds(100))
        }
    }

    // MARK: - One thing at a time

    func wait<Value>(
        _ start: (@escaping (Result<Value, RingwakeError>) -> Void) -> Void
    ) throws -> Value {
        var result: Result<Value, RingwakeError>?
        start { result = $0 }
        run { result != nil }
        return try #require(result).get()
    }

    func append(_ push: PushRecord, payload: [UInt8] = [1, 2, 3], call: CallRecord? = nil) throws -> PushVerdict {
        try wait { journal.append(push, payload: payload, call: call, completion: $0) }
    }

    func appendRing(_ call: CallRecord) throws -> RingVerdict {
        try wait { journal.appendRing(call, completion: $0) }
    }

    func keep(_ data: [UInt8]?, version: Int = 1, at path: String) throws {
        try wait { journal.keep(data, version: version, at: path, completion: $0) }
    }

    func pushes(_ query: PushQuery = PushQuery()) throws -> [JournaledPush] {
        try wait { journal.pushes(query, completion: $0) }
    }

    func calls(_ query: CallQuery = CallQuery()) throws -> [JournaledCall] {
        try wait { journal.calls(query, completion: $0) }
    }

    /// The records of all calls, newest first.
    func records() throws -> [CallRecord] { try calls().map(\.record) }

    func waitForHealth(_ condition: (JournalHealth) -> Bool) {
        run { condition(journal.health) }
    }

    // MARK: - Records

    /// A push that arrives now.
    func push(
        _ pushID: String, call: String? = nil, app: AppID = .phone, sender: String = "TEAM",
        outcome: PushOutcome = .started
    ) -> PushRecord {
        var push = PushRecord(
            pushID: pushID, app: app, provenance: Provenance(sender: sender, door: .apns(.production, .voip(of: app))),
            priority: .immediate, collapseID: nil, receivedAt: clock.boot, call: CallID(call ?? pushID),
            outcome: outcome)
        push.receivedWallClock = clock.wall
        return push
    }

    /// A call that a push has just started.
    func call(_ number: Int64, _ id: String, app: AppID = .phone) -> CallRecord {
        var call = CallRecord(
            number: number, key: CallKey(app: app, id: CallID(id)),
            provenance: Provenance(sender: "TEAM", door: .apns(.production, .voip(of: app))), pushID: id, state: .woken,
            reason: nil, detail: nil, update: CallUpdate(), attempt: 1,
            ringBefore: clock.boot.advanced(by: .seconds(45)), isOneAttempt: false, ringTime: .seconds(45),
            timeline: [TimelineEntry(.received, at: clock.boot)])
        call.receivedWallClock = clock.wall
        return call
    }
}

extension CallRecord {
    /// The same call, in another state.
    func entering(_ state: CallStateMachine.State.Name, _ stage: TimelineEntry.Stage, at instant: BootInstant) -> Self {
        var record = self
        record.state = state
        record.timeline.append(TimelineEntry(stage, at: instant))
        return record
    }

    /// The same call, ended.
    func ending(_ reason: CallEndReason, at instant: BootInstant) -> Self {
        var record = entering(.ended, .ended, at: instant)
        record.reason = reason
        return record
    }
}

extension PushJournal {
    /// Makes a push durable with its one payload.
    func append(
        _ push: PushRecord, payload: [UInt8], call: CallRecord?,
        completion: @escaping (Result<PushVerdict, RingwakeError>) -> Void
    ) {
        append(push, payloads: [CallPayload(push: 0, bytes: payload)], call: call, completion: completion)
    }
}

extension StoredCall {
    /// A call of this boot that one push brought.
    init(record: CallRecord, payload: [UInt8], isTimeKnown: Bool) {
        let payloads = payload.isEmpty ? [] : [CallPayload(push: 0, bytes: payload)]
        self.init(record, payloads: payloads, isTimeKnown ? .thisBoot : .otherBoot(isTimeKnown: false))
    }

    /// The payload of the push that brought it.
    var payload: [UInt8] { payloads.first?.bytes ?? [] }

    var isTimeKnown: Bool { origin != .otherBoot(isTimeKnown: false) }
}

extension AppID {
    static let phone = make("com.example.phone")
    static let door = make("com.example.door")

    private static func make(_ text: String) -> AppID {
        guard let app = AppID(text) else { preconditionFailure("\(text) is a bundle id") }
        return app
    }
}

/// What was logged, in memory.
nonisolated final class LogLines: Sendable {
    private let lines = Mutex<[(level: Logger.Level, message: String)]>([])

    func add(_ level: Logger.Level, _ message: String) {
        lines.withLock { $0.append((level, message)) }
    }

    func messages(_ level: Logger.Level) -> [String] {
        lines.withLock { lines in lines.filter { $0.level == level }.map(\.message) }
    }
}

nonisolated struct LogRecorder: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(lines: LogLines) {
        self.lines = lines
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add(event.level, event.message.description)
    }
}
