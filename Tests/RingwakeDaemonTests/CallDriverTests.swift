import CallService
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

import DaemonConfiguration

@testable import RingwakeDaemon

@Suite("Events become what the outside sees, and handlers do not outlive their calls for long")
final class CallDriverTests {
    private static let phone = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()

    private let directory: String
    private let loop: RunLoop
    private let journal: PushJournal
    private let runner: CallDriver

    init() throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        directory = FileManager.default.temporaryDirectory.path + "/effect-runner-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        loop = try RunLoop()
        let folders = ["STATE_DIRECTORY": directory, "RUNTIME_DIRECTORY": directory]
        var configuration = Configuration(
            file: "/ringwaked.toml", defaults: StandardPaths(isRoot: true, environment: folders))
        var app = AppConfiguration(id: CallDriverTests.phone, file: "/phone.toml", defaults: configuration)
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
        runner = CallDriver(
            configuration: configuration, runLoop: loop, journal: journal, activator: activator,
            callers: CallerLists(journal: journal, dialling: .none, stateDirectory: directory, logger: logger),
            restoration: Restoration(journal: journal, excluded: [], logger: logger), exitTimeout: .milliseconds(10),
            logger: logger)
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
        let app = CallDriverTests.phone
        return VerifiedPush(
            pushID: id, app: app,
            provenance: Provenance(sender: "DEVTEAM001", door: .apns(.development, .voip(of: app))),
            priority: .immediate, expiration: nil,
            collapseID: nil, payload: Array("{}".utf8), receivedAt: now, verifiedAt: now)
    }

    private func key(_ id: String) -> CallKey { CallKey(app: CallDriverTests.phone, id: CallID(id)) }

    private func pid(_ id: String) -> Int32? {
        runner.coordinator.call(key(id)).flatMap { runner.coordinator.process(of: $0) }
    }

    /// The handler's program reports the call, and asks for the ring.
    private func report(_ id: String) -> RecordingExchange {
        ask("POST", "/v1/calls/\(id)/report", #"{"ring":true}"#)
    }

    private func ask(_ method: String, _ target: String, _ body: String = "") -> RecordingExchange {
        let exchange = RecordingExchange()
        let id = runner.requests.add(exchange)
        runner.submit(
            .request(
                ServiceRequest(
                    id, method, target, body: Array(body.utf8), authorization: nil, peer: ControlPeer(.owner))))
        return exchange
    }

    private func endRemotely(_ id: String) {
        runner.submit(Event.remoteEnded(key(id), .remoteEnded, by: nil))
    }

    private func run(until condition: () -> Bool) {
        let end = BootClock.now().advanced(by: .seconds(300))
        while !condition(), BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
    }

    @Test("A handler that stays when its call has ended is stopped")
    func handlerOutlivesItsCall() throws {
        #expect(push("one") == .accepted(.started))
        let pid = try #require(self.pid("one"))
        _ = report("one")
        run { runner.coordinator.call(key("one"))?.machine.state.name == .ringing }
        #expect(kill(pid, 0) == 0, "while its call runs, nobody touches it")
        endRemotely("one")
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
        #expect(push("one") == .accepted(.started))
        endRemotely("one")
        if let pid = pid("two") { handlers.append(pid) }
        run { outcome != nil }
        #expect(outcome == .accepted(.started) && runner.coordinator.call(key("two")) != nil)
    }

    @Test("Who waits for the ring hears of it when the journal has it, and of an end instead")
    func ringSettles() {
        _ = push("one")
        let first = report("one")
        #expect(first.answers.isEmpty, "the journal is asked on its own thread")
        run { !first.answers.isEmpty }
        #expect(first.answers.count == 1 && first.answers[0].contains(#""state":"ringing""#))
        _ = push("two")
        let second = report("two")
        endRemotely("two")
        #expect(second.answers.count == 1 && second.answers[0].contains(#""state":"ended""#))
    }

    @Test("What the last run left: the call that never rang is woken again, the one that rang is not")
    func recovery() throws {
        _ = push("one")
        _ = push("two")
        _ = report("two")
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
        weak var kept: RecordingExchange?
        do {
            let exchange = RecordingExchange(isOpen: false)
            kept = exchange
            let id = runner.requests.add(exchange)
            runner.submit(
                .request(
                    ServiceRequest(id, "GET", "/v1/events", body: [], authorization: nil, peer: ControlPeer(.owner))))
        }
        #expect(kept == nil)
        #expect(runner.service.subscriptions.namedApps.isEmpty)
    }
}

private final class RecordingExchange: HTTPExchange {
    let isOpen: Bool
    var answers: [String] = []
    var onClose: (() -> Void)?

    /// - Parameter isOpen: false: the client had closed its end before it could be answered.
    init(isOpen: Bool = true) { self.isOpen = isOpen }

    func respond(_ response: HTTPResponse) { answers.append(String(decoding: response.body, as: UTF8.self)) }
    func beginStream(status: Int, fields: [HTTPField]) {}
    func send(_ bytes: [UInt8]) -> Bool { isOpen }
    func finish() {}
    func abort() {}
    func endConnection(reason: String) {}
}
