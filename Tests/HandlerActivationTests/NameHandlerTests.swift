import DBus
import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

/// Handlers in Python on a real `dbus-daemon`, which starts them.
@Suite struct NameHandlerTests {
    private let harness: Harness
    private let bus: PrivateBus
    private let told = EventRecorder()
    private let phone = DBusHandlerName(name: "org.example.Phone")

    init() throws {
        harness = try Harness()
        bus = try PrivateBus(harness)
        try harness.write("handler.py", NameScript.text)
    }

    private func command(_ behaviour: String, _ name: String = "org.example.Phone") -> [String] {
        [
            NameScript.interpreter, harness.path("handler.py"), harness.path("bus"), behaviour, harness.path("out"),
            name,
        ]
    }

    private func install(_ behaviour: String, _ name: String = "org.example.Phone") throws {
        try bus.install(name, command(behaviour, name).joined(separator: " "))
    }

    private func wake(
        _ name: DBusHandlerName? = nil, payload: String = "{}", reportWithin patience: Duration = .seconds(20)
    ) throws -> any HandlerLease {
        let app = try #require(AppID("com.example.phone"))
        let now = BootInstant(nanoseconds: BootClock.now().nanoseconds)
        let request = WakeRequest(
            wake: WakeID(number: 1), app: app, call: CallID("call-1"), attempt: 1,
            receivedAt: now,
            reportBy: now.advanced(by: patience), payload: Array(payload.utf8))
        return try harness.activator.wake(request, way: .dbus(name ?? phone), secret: "s3cret", events: told.events)
    }

    private func lines() -> [String] {
        String(decoding: contents(of: harness.path("out")) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("The bus starts the handler, which is told the push, the secret and the socket, and is followed")
    func activated() throws {
        try install("polite")
        let lease = try wake(payload: #"{"n":"ü"}"#)
        #expect(told.entries.isEmpty)
        harness.runUntil { told.hasStarted && lines().count == 2 }
        let pid = try #require(lease.pid)
        #expect(told.entries == [.started(pid)])
        #expect(lines().first == "pid|\(pid)")
        let push = try #require(lines().last).split(separator: "|").map(String.init)
        #expect(push[1].hasPrefix(#"{"schema":1,"kind":"call","app":"com.example.phone","#))
        #expect(push[1].hasSuffix(#""payload":{"n":"ü"}}"#))
        #expect(Array(push[2...]) == ["s3cret", "/run/ringwake/control.sock"])

        lease.stop(grace: .seconds(9))
        harness.runUntil { told.exit != nil }
        #expect(lines().last == "release|com.example.phone|call-1")
        #expect(told.exit == .left("left the bus: org.example.Phone is not its name any more"))
        #expect(!lease.isRunning && lease.mark == nil)
    }

    @Test("A handler that has its name already is told the push without being started")
    func running() throws {
        let handler = try TestProcess(command("stays"))
        harness.runUntil { lines().count == 1 }
        let lease = try wake()
        harness.runUntil { told.hasStarted && lines().count == 2 }
        #expect(lease.pid == handler.pid)
        lease.stop(grace: .milliseconds(50))
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .left("was released"))
        #expect(!hasEnded(handler.pid), "it is not ours to kill")
        harness.runUntil { lines().last?.hasPrefix("release") == true }
    }

    @Test("A handler that dies has ended")
    func dies() throws {
        try install("polite")
        let lease = try wake()
        harness.runUntil { told.hasStarted }
        kill(try #require(lease.pid), SIGKILL)
        harness.runUntil { told.exit != nil }
        #expect(told.entries.count == 2)
    }

    @Test("A handler that answers and leaves at once is over, whether it was seen or not")
    func quits() throws {
        try install("quits")
        _ = try wake()
        harness.runUntil { told.isOver }
        #expect(told.isOver)
    }

    @Test("A handler that does not answer is kept: the call's own deadline judges it")
    func mute() throws {
        try install("mute")
        let lease = try wake(reportWithin: .zero)
        harness.runUntil { harness.log.messages.contains { $0.contains("does not answer IncomingPush") } }
        #expect(told.hasStarted && told.exit == nil && lease.isRunning)
    }

    @Test(
        "A handler that cannot be woken is an error that says why and what to do",
        arguments: [
            ("org.example.Absent", "", RingwakeError.Code.badConfiguration, "nobody has the name"),
            ("org.example.Crashing", "crashes", .failed, "the bus could not start it"),
            ("org.example.Refusing", "refuses", .failed, "refused the push: no (org.example.Phone.Error.Busy)"),
            ("org.example.Empty", "empty", .badConfiguration, "has no org.ringwake.Handler1 at /org/example/Phone"),
            ("org.example.Closed", "polite", .notPermitted, "let the bus policy allow the daemon"),
        ])
    func failures(name: String, behaviour: String, code: RingwakeError.Code, text: String) throws {
        if !behaviour.isEmpty { try install(behaviour, name) }
        let lease = try wake(DBusHandlerName(name: name, path: "/org/example/Phone"))
        harness.runUntil { told.isOver }
        // Who has taken its name has started already when it refuses.
        let reason = told.failure?.message ?? told.exit?.description ?? ""
        #expect(reason.contains(text), "\(told.entries)")
        if let failure = told.failure { #expect(failure.code == code) }
        #expect(!lease.isRunning)
    }

    @Test("A bus that is not there, and one that dies, are told")
    func noBus() throws {
        try install("polite")
        _ = try wake()
        harness.runUntil { told.hasStarted }
        bus.kill()
        harness.runUntil { told.exit != nil }
        let other = EventRecorder()
        _ = try harness.activator.wake(
            makeRequest(call: "c", payload: Array("{}".utf8)), way: .dbus(phone), secret: "", events: other.events)
        harness.runUntil { other.isOver }
        #expect(other.failure?.code == .unreachable)
        #expect(other.failure?.message.contains("the session bus is not there") == true)
    }

    @Test("A stop before the handler is there reaches it when it is")
    func stoppedEarly() throws {
        try install("polite")
        try wake().stop(grace: .seconds(20))
        harness.runUntil { told.isOver }
        #expect(told.failure == nil)
        #expect(lines().contains("release|com.example.phone|call-1"))
    }

    @Test("The owner is found again by another activator, unless the name is another's by then")
    func adoption() throws {
        try install("polite")
        let lease = try wake()
        harness.runUntil { told.hasStarted }
        let mark = try #require(lease.mark)
        let after = try Harness(busAt: harness.path("bus"))
        let found = EventRecorder()
        let adopted = try #require(after.activator.adopt(mark, wake: WakeID(number: 4), events: found.events))
        after.runUntil { found.hasStarted }
        #expect(adopted.pid == lease.pid && adopted.mark == mark)
        guard case .owner(let name, let connection, let process, let app, let call) = mark else {
            Issue.record("\(mark)")
            return
        }
        let forged = HandlerMark.owner(
            of: name, connection: connection,
            process: ProcessIdentity(pid: process.pid, startTime: process.startTime - 1), app: app, call: call)
        for mark in [forged, .owner(of: name, connection: ":1.999", process: process, app: app, call: call)] {
            let gone = EventRecorder()
            _ = after.activator.adopt(mark, wake: WakeID(number: 5), events: gone.events)
            after.runUntil { gone.isOver }
            #expect(gone.entries == [.ended(.left("left the bus while the daemon was away"))])
        }
        adopted.stop(grace: .seconds(9))
        after.runUntil { found.exit != nil }
        harness.runUntil { told.exit != nil }
    }

    @Test("What a bus cannot carry, and what is no name, is refused at once")
    func refused() throws {
        let app = try #require(AppID("com.example.phone"))
        #expect(throws: RingwakeError.self) { _ = try wake(payload: "\u{0}") }
        for name in ["", "phone", ":1.4", "org.example.Phöne", "org..x"] {
            let handler = DBusHandlerName(name: name, path: "/x")
            #expect(throws: RingwakeError.self) { _ = try wake(handler) }
            #expect(throws: RingwakeError.self) { try HandlerWay.dbus(handler).check(of: app) }
        }
        let noPath = DBusHandlerName(name: "org.example.Phone", path: "relative")
        #expect(throws: RingwakeError.self) { try HandlerWay.dbus(noPath).check(of: app) }
        try HandlerWay.dbus(phone).check(of: app)
        #expect(DBusHandlerName(name: "org.example-x.Phone").path == "/org/example_x/Phone")
        #expect(told.entries.isEmpty)
    }
}
