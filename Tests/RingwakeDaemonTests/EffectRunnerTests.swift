import Glibc
import HTTPServer
import HandlerActivation
import Logging
import RingwakeCore
import RunLoop
import Testing

@testable import RingwakeDaemon

@Suite("Events become what the outside sees, and handlers do not outlive their calls for long")
struct EffectRunnerTests {
    private static let phone = AppID("com.example.phone") ?? { preconditionFailure("a valid bundle id") }()
    private static let broken = AppID("com.example.broken") ?? { preconditionFailure("a valid bundle id") }()

    private let loop: RunLoop
    private let runner: EffectRunner

    init() throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        loop = try RunLoop()
        let exec = [EffectRunnerTests.phone: ["/bin/sleep", "1000"], EffectRunnerTests.broken: ["/nonexistent"]]
        let configuration = Configuration(
            file: "/ringwaked.toml", stateDirectory: "/tmp", runtimeDirectory: "/tmp", listeners: [], teams: [],
            deadlines: CallDeadlines(), logLevel: .info,
            apps: Dictionary(
                uniqueKeysWithValues: exec.map { ($0, AppConfiguration(id: $0, file: "/\($0).toml", exec: $1)) }))
        let activator = ExecHandlerActivator(
            runLoop: loop, logger: logger, runtimeDirectory: "/tmp", baseEnvironment: [:], socketPath: "/tmp/none")
        runner = EffectRunner(
            configuration: configuration, runLoop: loop, activator: activator, events: EventStreams(), logger: logger,
            exitPatience: .milliseconds(10))
    }

    private func push(_ id: String, app: AppID = EffectRunnerTests.phone) {
        let now = runner.now
        runner.submit(
            .pushReceived(
                VerifiedPush(
                    apnsID: id, app: app, topic: .voip(of: app), environment: .development,
                    sender: .token(team: "DEVTEAM001", keyID: "ABC123DEFG"), priority: .immediate, expiration: nil,
                    collapseID: nil, payload: Array("{}".utf8), receivedAt: now, verifiedAt: now)))
    }

    private func call(_ id: String) -> Call? { runner.calls(named: CallID(id)).first }

    private func run(until condition: () -> Bool) {
        let end = BootClock.now().advanced(by: .seconds(30))
        while !condition(), BootClock.now() < end { loop.runOnce(timeout: .milliseconds(20)) }
    }

    @Test("A handler that stays when its call has ended is stopped")
    func handlerOutlivesItsCall() throws {
        push("one")
        let pid = try #require(call("one")?.handler)
        runner.submit(.reported(CallKey(app: EffectRunnerTests.phone, id: CallID("one")), CallUpdate(), ring: true))
        for _ in 0..<5 { loop.runOnce(timeout: .milliseconds(10)) }
        #expect(kill(pid, 0) == 0, "while its call runs, nobody touches it")
        runner.submit(.remoteEnded(CallKey(app: EffectRunnerTests.phone, id: CallID("one")), .remoteEnded))
        #expect(call("one")?.handler == pid)
        run { call("one")?.handler == nil }
        #expect(call("one")?.handler == nil)
        #expect(kill(pid, 0) == -1)
    }

    @Test("The exit of a forgotten call's handler does not end a new call of the same name")
    func nameUsedAgain() throws {
        push("one")
        let first = try #require(call("one")?.handler)
        // Stopped, so that it outlives what follows.
        kill(first, SIGSTOP)
        runner.submit(.remoteEnded(CallKey(app: EffectRunnerTests.phone, id: CallID("one")), .remoteEnded))
        for number in 0..<2048 { push("\(number)", app: EffectRunnerTests.broken) }
        #expect(call("one") == nil)
        push("one")
        let second = try #require(call("one")?.handler)
        #expect(second != first)
        run { kill(first, 0) == -1 }
        #expect(call("one")?.machine.state.name == "woken")
        #expect(call("one")?.handler == second)
        runner.submit(.remoteEnded(CallKey(app: EffectRunnerTests.phone, id: CallID("one")), .remoteEnded))
        run { call("one")?.handler == nil }
        #expect(kill(second, 0) == -1, "its own handler is still known, and stopped")
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
