import DBus
import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

/// What a systemd does that hangs, refuses or says things in another order: an imitation on a real bus. The real one is
/// in ``UserSystemdTests``.
@Suite struct OddSystemdTests {
    private let harness: Harness
    private let bus: PrivateBus
    private let told = EventRecorder()

    init() throws {
        harness = try Harness()
        bus = try PrivateBus(harness)
        try harness.write("systemd.py", OddSystemdScript.text)
    }

    private func start(_ behaviour: String) throws -> TestProcess {
        let command = [
            "/usr/bin/python3", harness.path("systemd.py"), harness.path("bus"), behaviour, harness.path("out"),
        ]
        let process = try TestProcess(command, output: harness.path("systemd.log"))
        harness.runUntil { lines().contains("ready") }
        return process
    }

    private func lines() -> [String] {
        String(decoding: contents(of: harness.path("out")) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func wake() throws -> any HandlerLease {
        try harness.activator.wake(
            makeRequest(call: "c", payload: Array("{}".utf8)), way: .unit("phone.service", .system), secret: "",
            events: told.events)
    }

    @Test("Without a systemd on the bus, and without a bus, a unit cannot be started, and that is said")
    func absent() throws {
        _ = try wake()
        harness.runUntil { told.isOver }
        #expect(told.failure?.code == .unreachable)
        #expect(told.failure?.message.contains("no systemd is on the system bus") == true)
        bus.kill()
        let other = EventRecorder()
        harness.runUntil { if case .lost = harness.bus.status { true } else { false } }
        _ = try harness.activator.wake(
            makeRequest(call: "c", payload: []), way: .unit("phone.service", .user), secret: "", events: other.events)
        harness.runUntil { other.isOver }
        #expect(other.failure?.code == .unreachable)
        #expect(other.failure?.message.contains("the session bus is not there") == true)
    }

    @Test("A job that is done before its start was answered counts; signals are asked for only while there is a lease")
    func early() throws {
        let systemd = try start("early")
        let lease = try wake()
        harness.runUntil { told.hasStarted }
        #expect(told.entries == [.started(nil)])
        #expect(lines().contains("StartUnit phone.service replace") && lines().contains("Subscribe"))
        #expect(!lines().contains("Unsubscribe"))
        systemd.stop()
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .left("cannot be followed any more: systemd left the bus"))
        #expect(!lease.isRunning)
    }

    @Test("A refusal names polkit, and the last lease takes the signals along")
    func denied() throws {
        let systemd = try start("denied")
        defer { systemd.stop() }
        _ = try wake()
        harness.runUntil { told.isOver && lines().contains("Unsubscribe") }
        #expect(told.failure?.code == .notPermitted)
        #expect(told.failure?.message.contains("polkit") == true)
    }

    @Test("A systemd that does not answer is given up, and what it starts all the same is stopped")
    func mute() throws {
        let systemd = try start("mute")
        defer { systemd.stop() }
        _ = try wake()
        harness.runUntil { told.isOver && lines().contains("StopUnit phone.service replace") }
        #expect(told.failure?.code == .timedOut)
    }

    @Test("An answer of another type is a failure, and a unit that is gone at once has started and ended")
    func wrongTypes() throws {
        let systemd = try start("wrong")
        _ = try wake()
        harness.runUntil { told.isOver }
        #expect(told.failure?.code == .failed)
        systemd.stop()
        unlink(harness.path("out"))
        let other = try start("vanishes")
        defer { other.stop() }
        let second = EventRecorder()
        _ = try harness.activator.wake(
            makeRequest(call: "c", payload: []), way: .unit("phone.service", .system), secret: "", events: second.events
        )
        harness.runUntil { second.isOver }
        #expect(second.entries == [.started(nil), .ended(.left("its unit was stopped"))])
    }

    @Test("A unit that may not be stopped is left, and that is said")
    func stuck() throws {
        let systemd = try start("stuck")
        defer { systemd.stop() }
        let lease = try wake()
        harness.runUntil { told.hasStarted }
        lease.stop(grace: .zero)
        harness.runUntil { told.exit != nil && lines().contains("KillUnit phone.service all 9") }
        #expect(told.exit?.description.contains("could not be stopped") == true)
    }
}
