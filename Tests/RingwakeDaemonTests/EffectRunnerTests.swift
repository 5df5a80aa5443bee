import ControlProtocol
import FoundationEssentials
import Glibc
import HTTPServer
import HandlerActivation
import Logging
import PushGateway
import PushJournal
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("Events become what the outside sees, and handlers do not outlive their calls for long")
final class EffectRunnerTests {
    private static let phone = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()

    private let directory: String
    private let loop: RunLoop
    private let journal: PushJournal
    private let runner: EffectRunner

    init() throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        directory = FileManager.default.temporaryDirectory.path + "/effect-runner-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        loop = try RunLoop()
        let folders = ["STATE_DIRECTORY": directory, "RUNTIME_DIRECTORY": directory]
        var configuration = Configuration(
            file: "/ringwaked.toml", defaults: StandardPaths(isRoot: true, environment: folders))
        var app = AppConfiguration(id: EffectRunnerTests.phone, file: "/phone.toml", defaults: configuration)
        app.wake.handler = .exec(["/bin/sleep", "1000"])
        app.policy.instances = .call
        configuration.apps = [app.id: app]
        journal = try PushJournal(
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
        runner = EffectRunner(
            configuration: configuration, runLoop: loop, journal: journal,
            handlers: HandlerLeases(activator: activator, exitPatience: .milliseconds(10)), events: EventStreams(),
            screen: CallScreen(configuration: configuration, journal: journal, logger: logger), logger: logger)
    }

    isolated deinit {
        for pid in handlers { kill(pid, SIGKILL) }
        journal.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private var handlers: [Int32] = []

    /// Sends a push, and waits until its sender is answered.
    private func push(_ id: String) -> DeliveryOutcome? {
        var outcome: DeliveryOutcome?
        runner.receive(verifiedPush(id)) { outcome = $0 }
        if let pid = pid(id) { handlers.append(pid) }
        run { outcome != nil }
        return outcome
    }

    private func verifiedPush(_ id: String) -> VerifiedPush {
        let now = runner.now
        let app = EffectRunnerTests.phone
        return VerifiedPush(
            apnsID: id, app: app, topic: .voip(of: app), environment: .development,
            sender: .token(team: "DEVTEAM001", keyID: "ABC123DEFG"), priority: .immediate, expiration: nil,
            collapseID: nil, payload: Array("{}".utf8), receivedAt: now, verifiedAt: now)
    }

    private func key(_ id: String) -> CallKey { CallKey(app: EffectRunnerTests.phone, id: CallID(id)) }

    private func pid(_ id: String) -> Int32? {
        runner.coordinator.call(key(id)).flatMap { runner.coordinator.process(of: $0) }
    }

    private func name(of result: Result<Call, EventRefusal>) -> CallStateMachine.State.Name? {
        if case .success(let call) = result { call.machine.state.name } else { nil }
    }

    private func run(until condition: () -> Bool) {
        let end = BootClock.now().advanced(by: .seconds(30))
        while !condition(), BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
    }

    @Test("A handler that stays when its call has ended is stopped")
    func handlerOutlivesItsCall() throws {
        #expect(push("one") == .accepted)
        let pid = try #require(self.pid("one"))
        runner.submit(.reported(key("one"), CallUpdate(), ring: true, by: nil))
        run { runner.coordinator.call(key("one"))?.machine.state.name == .ringing }
        #expect(kill(pid, 0) == 0, "while its call runs, nobody touches it")
        runner.submit(.remoteEnded(key("one"), .remoteEnded, by: nil))
        #expect(self.pid("one") == pid)
        run { self.pid("one") == nil }
        #expect(self.pid("one") == nil)
        #expect(kill(pid, 0) == -1)
    }

    @Test("A push that comes while effects run waits for its turn, and its sender is answered")
    func pushWithinAnEffect() {
        var outcome: DeliveryOutcome?
        runner.onMissed = { [self] _ in
            runner.onMissed = nil
            runner.receive(verifiedPush("two")) { outcome = $0 }
        }
        #expect(push("one") == .accepted)
        runner.submit(.remoteEnded(key("one"), .remoteEnded, by: nil))
        if let pid = pid("two") { handlers.append(pid) }
        run { outcome != nil }
        #expect(outcome == .accepted && runner.coordinator.call(key("two")) != nil)
    }

    @Test("Who waits for the ring hears of it when the journal has it, and of an end instead")
    func ringSettles() {
        _ = push("one")
        runner.submit(.reported(key("one"), CallUpdate(), ring: true, by: nil))
        var heard: [CallStateMachine.State.Name?] = []
        runner.whenSettled(key("one")) { heard.append(self.name(of: $0)) }
        #expect(heard.isEmpty, "the journal is asked on its own thread")
        run { !heard.isEmpty }
        #expect(heard == [.ringing])
        _ = push("two")
        runner.submit(.reported(key("two"), CallUpdate(), ring: true, by: nil))
        runner.whenSettled(key("two")) { heard.append(self.name(of: $0)) }
        runner.submit(.remoteEnded(key("two"), .remoteEnded, by: nil))
        #expect(heard == [.ringing, .ended])
    }

    @Test("What the last run left: the call that never rang is woken again, the one that rang is not")
    func recovery() throws {
        _ = push("one")
        _ = push("two")
        runner.submit(.reported(key("two"), CallUpdate(), ring: true, by: nil))
        run { runner.coordinator.call(key("two"))?.machine.state.name == .ringing }
        journal.close()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let again = try PushJournal(
            directory: directory, runLoop: loop, logger: logger, limits: JournalLimits(),
            clocks: JournalClocks(
                wall: { unixMilliseconds() }, boot: { BootInstant(nanoseconds: BootClock.now().nanoseconds) },
                bootID: "test", trust: { .kept }))
        defer { again.close() }
        var coordinator = CoordinatorStateMachine()
        let policy = AppPolicy(instances: .call)
        var effects: [Effect] = []
        for call in again.takeContents().open {
            // As after a restart of the machine.
            let stored = StoredCall(call.record, payloads: call.payloads, .otherBoot(isTimeKnown: true))
            effects += coordinator.handle(.restored(stored, policy), at: runner.now)
        }
        effects += coordinator.handle(.handlersRestored(key("one").app, [:], alive: [], policy), at: runner.now)
        let wakes = effects.compactMap { if case .wake(let request) = $0 { request } else { nil } }
        #expect(wakes.map(\.call.rawValue) == ["one"] && wakes.map(\.attempt) == [2])
        #expect(wakes.map(\.payload) == [Array("{}".utf8)])
        #expect(coordinator.call(key("two"))?.machine.state.endReason == .unanswered)
    }

    @Test("A client of the event stream that has left already is not kept")
    func streamOfAClientThatLeft() {
        let streams = EventStreams()
        weak var kept: GoneExchange?
        do {
            let exchange = GoneExchange()
            kept = exchange
            streams.subscribe(exchange, app: nil, call: nil, first: [])
        }
        #expect(kept == nil)
    }
}

/// The exchange of a client that had closed its end before its stream could begin.
private final class GoneExchange: HTTPExchange {
    var isOpen: Bool { false }
    var onClose: (() -> Void)?
    func respond(_ response: HTTPResponse) {}
    func beginStream(status: Int, fields: [HTTPField]) {}
    func send(_ bytes: [UInt8]) -> Bool { false }
    func finish() {}
    func closeConnection(reason: String) {}
}
