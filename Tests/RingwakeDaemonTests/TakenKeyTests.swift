import CallService
import DaemonConfiguration
import FoundationEssentials
import Glibc
import HandlerActivation
import Logging
import PushGateway
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("A stored call, and a push of another sender with its id")
final class TakenKeyTests {
    private static let phone = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()
    private static let key = CallKey(app: phone, id: CallID("one"))

    private let directory: String
    private let loop: RunLoop
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private var runs: [Run] = []
    private var processes: Set<Int32> = []

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/taken-key-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        loop = try RunLoop()
    }

    isolated deinit {
        for run in runs { end(run) }
        for pid in processes { kill(pid, SIGKILL) }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The parts of a daemon that restore calls.
    private struct Run {
        let journal: PushJournal
        let restoration: Restoration
        let calls: CallDriver
        let contents: JournalContents
    }

    private func start() throws -> Run {
        let folders = ["STATE_DIRECTORY": directory, "RUNTIME_DIRECTORY": directory]
        var configuration = Configuration(
            file: "/ringwaked.toml", defaults: StandardPaths(isRoot: true, environment: folders))
        var app = AppConfiguration(id: TakenKeyTests.phone, file: "/phone.toml", defaults: configuration)
        app.wake.handler = .exec(["/bin/sleep", "1000"])
        app.policy.instances = .call
        configuration.apps = [app.id: app]
        let journal = try PushJournal(
            directory: directory, runLoop: loop, logger: logger, limits: configuration.journal,
            clocks: JournalClocks(
                wall: { unixMilliseconds() }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) },
                bootID: "test", trust: { .kept }))
        // Buses that are not there.
        let buses = Buses(
            runLoop: loop, logger: logger,
            environment: [
                "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(directory)/none",
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(directory)/none",
            ])
        let activator = HandlerActivator(
            runLoop: loop, logger: logger, runtimeDirectory: directory, baseEnvironment: [:], socketPath: "/tmp/none",
            systemBus: buses.system, sessionBus: buses.session)
        let restoration = Restoration(journal: journal, excluded: [], logger: logger)
        let calls = CallDriver(
            configuration: configuration, runLoop: loop, journal: journal, activator: activator,
            callers: CallerLists(journal: journal, dialling: .none, stateDirectory: directory, logger: logger),
            restoration: restoration, exitTimeout: .milliseconds(10), logger: logger)
        let run = Run(journal: journal, restoration: restoration, calls: calls, contents: journal.takeContents())
        runs.append(run)
        return run
    }

    private func end(_ run: Run) {
        for call in run.calls.coordinator.active.values {
            if let pid = run.calls.coordinator.process(of: call) { processes.insert(pid) }
        }
        run.journal.close()
    }

    private func wait<Value>(_ start: (@escaping (Value) -> Void) -> Void) throws -> Value {
        var answer: Value?
        start { answer = $0 }
        let end = BootClock.now().advanced(by: .seconds(300))
        while answer == nil, BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
        return try #require(answer)
    }

    /// A push with the id "one".
    private func push(from sender: String, to run: Run) throws -> DeliveryOutcome {
        let now = run.calls.now
        let push = VerifiedPush(
            pushID: "one", app: TakenKeyTests.phone,
            provenance: Provenance(sender: sender, door: .apns(.development, .voip(of: TakenKeyTests.phone))),
            priority: .immediate, expiration: nil, collapseID: nil, payload: Array("{}".utf8), receivedAt: now,
            verifiedAt: now)
        return try wait { run.calls.receive(push, answer: $0) }
    }

    /// Stores an open call of the sender DEVTEAM001, as a killed daemon leaves it.
    private func storeCall() throws {
        let run = try start()
        run.restoration.restore(run.contents, run.calls)
        #expect(try push(from: "DEVTEAM001", to: run) == .accepted(.started))
        end(run)
    }

    private func sender(_ id: String = "one", in run: Run) -> String? {
        let call = run.calls.coordinator.active[CallKey(app: TakenKeyTests.phone, id: CallID(id))]
        return call?.provenance.sender
    }

    @Test("The push came first, while the journal could not be read: the stored call is missed, and the other goes on")
    func pushFirst() throws {
        try storeCall()
        let second = try start()
        var missed: [CallKey] = []
        second.calls.onMissed = { missed.append($0.key) }
        second.restoration.beginWithoutStore(second.calls)
        #expect(try push(from: "DEVTEAM002", to: second) == .accepted(.started))
        second.restoration.restore(second.contents, second.calls)
        #expect(sender(in: second) == "DEVTEAM002" && missed == [TakenKeyTests.key])
        let listed = try wait { second.journal.calls(CallQuery(missedOnly: true), completion: $0) }.get()
        #expect(listed.map(\.record.provenance.sender) == ["DEVTEAM001"])
        #expect(listed.first?.record.state == .ended)
        #expect(listed.first?.record.detail?.contains("another sender's push") == true)
        end(second)

        let third = try start()
        #expect(third.contents.open.map(\.record.provenance.sender) == ["DEVTEAM002"])
        third.restoration.restore(third.contents, third.calls)
        #expect(sender(in: third) == "DEVTEAM002")
        // The missed call's sender gets an id of its own, and its repeat rings nowhere.
        #expect(try push(from: "DEVTEAM001", to: third) == .accepted(.started))
        #expect(sender(in: third) == "DEVTEAM002")
        end(third)
    }

    @Test("The stored call was restored first: both go on, also after another start")
    func storedFirst() throws {
        try storeCall()
        let second = try start()
        second.restoration.restore(second.contents, second.calls)
        #expect(try push(from: "DEVTEAM002", to: second) == .accepted(.started))
        #expect(sender(in: second) == "DEVTEAM001" && sender("one~DEVTEAM002", in: second) == "DEVTEAM002")
        end(second)

        let third = try start()
        third.restoration.restore(third.contents, third.calls)
        #expect(sender(in: third) == "DEVTEAM001" && sender("one~DEVTEAM002", in: third) == "DEVTEAM002")
        end(third)
    }

    @Test("Without the store, numbers begin above those of the clock, also while it is not set")
    func numbers() {
        let earliest = PushGateway.earliestPlausibleTime
        let tomorrow = Restoration.firstNumber(at: earliest + 86_400_000)
        for _ in 0..<100 {
            #expect((earliest << 11..<tomorrow).contains(Restoration.firstNumber(at: 0)))
        }
    }
}
