import DBus
import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

/// Handlers as units of a real `systemd --user`, which runs in namespaces of its own where PID 1 is no systemd.
@Suite(.serialized, .enabled(if: UserSystemd.isAvailable, "needs root, /lib/systemd/systemd and writable cgroups"))
struct UserSystemdTests {
    private let harness: Harness
    private let told = EventRecorder()

    init() throws {
        harness = try Harness()
    }

    private func wake(
        _ way: HandlerWay, call: String = "call-1", payload: String = "{}", events: HandlerEvents? = nil
    ) throws -> any HandlerLease {
        try harness.activator.wake(
            makeRequest(call: call, payload: Array(payload.utf8)), way: way, secret: "s3cret",
            events: events ?? told.events)
    }

    private func transient(_ script: String, call: String = "call-1", payload: String = "{}") throws -> any HandlerLease
    {
        try wake(.transientUnit(["/bin/sh", "-c", script], .user), call: call, payload: payload)
    }

    @Test("A command runs in a service of its own: request on stdin, call in the environment, arguments as they are")
    func transientService() throws {
        let systemd = try UserSystemd(harness)
        defer { systemd.stop() }
        let script =
            #"cat > "$0"; printf '\n%s|%s|%s|%s\n' "$1" "$RINGWAKE_CALL" "$RINGWAKE_SOCKET" "$2" >> "$0"; sleep 1000"#
        let command = ["/bin/sh", "-c", script, harness.path("out"), "$HOME ${HOME} $$ %i %% \\x41 a\"b'", ""]
        let lease = try wake(.transientUnit(command, .user), call: "id with $HOME, ü and %i", payload: #"{"n":1}"#)
        #expect(told.entries.isEmpty, "never from within wake")
        harness.runUntil { told.hasStarted && harness.line(in: "out") != nil }
        let lines = (harness.line(in: "out") ?? "").split(separator: "\n")
        #expect(lines.first?.hasPrefix(#"{"schema":1,"kind":"call","app":"com.example.phone""#) == true)
        #expect(lines.first?.hasSuffix(#""payload":{"n":1}}"#) == true)
        #expect(
            lines.last == "$HOME ${HOME} $$ %i %% \\x41 a\"b'|id with $HOME, ü and %i|/run/ringwake/control.sock|")

        let pid = try #require(lease.pid)
        #expect(told.entries == [.started(pid)])
        #expect(comm(of: pid) == "sh")
        guard case .unit(let name, .user, let invocation, ranBefore: false) = lease.mark else {
            Issue.record("\(String(describing: lease.mark))")
            return
        }
        #expect(name.hasPrefix("ringwake-com.example.phone-1-") && name.hasSuffix(".service"))
        #expect(invocation.count == 16)
        #expect(harness.activator.wake(of: PeerUnits(of: pid)) == lease.wake)
        #expect(harness.activator.wake(of: PeerUnits(of: getpid())) == nil)
        #expect(harness.activator.wake(of: PeerUnits(of: -1)) == nil)

        kill(pid, SIGKILL)
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .signalled(SIGKILL))
        #expect(!lease.isRunning && lease.mark == nil)
        #expect(harness.activator.wake(of: PeerUnits(of: pid)) == nil)
    }

    @Test("Neither the unit's settings nor its environment hold the secret, which everybody may read")
    func noSecret() throws {
        let systemd = try UserSystemd(harness)
        defer { systemd.stop() }
        let lease = try transient("sleep 1000")
        harness.runUntil { told.hasStarted }
        guard case .unit(let name, _, _, _) = lease.mark else {
            Issue.record("no mark")
            return
        }
        let show = try TestProcess(
            ["/usr/bin/systemctl", "--user", "show", name], environment: ["XDG_RUNTIME_DIR=\(harness.directory)"],
            output: harness.path("out"))
        #expect(show.waitForEnd() == 0)
        let settings = String(decoding: contents(of: harness.path("out")) ?? [], as: UTF8.self)
        #expect(settings.contains("RINGWAKE_CALL=call-1"))
        #expect(settings.contains("CollectMode=inactive-or-failed") && settings.contains("Type=exec"))
        #expect(!settings.contains("s3cret"))
        let environment = contents(of: "/proc/\(try #require(lease.pid))/environ") ?? []
        #expect(!String(decoding: environment, as: UTF8.self).contains("s3cret"))
    }

    @Test(
        "How a unit ends is told once",
        arguments: [("exit 0", HandlerExit.exited(0)), ("exit 3", .exited(3)), ("kill -SEGV $$", .signalled(SIGSEGV))])
    func exits(script: String, expected: HandlerExit) throws {
        let systemd = try UserSystemd(harness)
        defer { systemd.stop() }
        let lease = try transient("sleep 0.2; \(script)")
        harness.runUntil { told.exit != nil }
        #expect(told.hasStarted && told.exit == expected && told.entries.count == 2)
        #expect(!lease.isRunning)
    }

    @Test("What cannot be started is told with its reason: a program, a unit, one that fails, a condition, a mask")
    func failures() throws {
        let systemd = try UserSystemd(
            harness,
            units: [
                "failing.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 7'\n",
                "skipped.service": "[Unit]\nAssertPathExists=/no/such/path\n[Service]\nExecStart=/bin/true\n",
                "broken.service": "[Service]\nType=exec\n",
                "requiring.service":
                    "[Unit]\nRequires=failing.service\nAfter=failing.service\n[Service]\nExecStart=/bin/sleep 9\n",
                "slow.service": "[Service]\nType=notify\nTimeoutStartSec=1\nExecStart=/bin/sleep 1000\n",
            ])
        defer { systemd.stop() }
        symlink("/dev/null", harness.path("config/systemd/user/masked.service"))
        let cases: [(HandlerWay, RingwakeError.Code, String)] = [
            (.transientUnit(["/no/such/handler"], .user), .failed, "its program could not be executed"),
            (.unit("absent.service", .user), .badConfiguration, "absent.service not found"),
            (.unit("failing.service", .user), .failed, "it failed to start: it exited with status 7"),
            (.unit("skipped.service", .user), .badConfiguration, "condition of the unit is not met"),
            (.unit("broken.service", .user), .badConfiguration, "bad unit file setting"),
            (.unit("requiring.service", .user), .failed, "a unit that it requires"),
            (.unit("masked.service", .user), .badConfiguration, "systemctl --user unmask 'masked.service'"),
            (.unit("slow.service", .user), .failed, "took longer than its unit allows"),
        ]
        for (way, code, text) in cases {
            let told = EventRecorder()
            let lease = try wake(way, events: told.events)
            harness.runUntil { told.isOver }
            #expect(told.entries.count == 1, "\(told.entries)")
            #expect(told.failure?.code == code, "\(told.entries)")
            #expect(told.failure?.message.contains(text) == true, "\(told.entries)")
            #expect(!lease.isRunning)
        }
    }

    @Test("A unit that is named gets the call as its instance; one that runs already is taken as it is, and stays")
    func named() throws {
        let systemd = try UserSystemd(
            harness,
            units: [
                "phone@.service":
                    "[Service]\nExecStart=/bin/sh -c 'echo \"%%i\" \"%I\" > \(harness.path("out")); exec sleep 1000'\n"
                    .replacing("%%i", with: "%i"),
                "desk.service": "[Service]\nExecStart=/bin/sleep 1000\n",
            ])
        defer { systemd.stop() }
        let lease = try wake(.unit("phone@.service", .user), call: "a/b-c d")
        harness.runUntil { told.hasStarted && harness.line(in: "out") != nil }
        #expect(harness.line(in: "out") == #"a-b\x2dc\x20d a/b-c d"#)
        guard case .unit(#"phone@a-b\x2dc\x20d.service"#, .user, _, _) = lease.mark else {
            Issue.record("\(String(describing: lease.mark))")
            return
        }
        #expect(harness.activator.wake(of: PeerUnits(of: try #require(lease.pid))) == lease.wake)

        let start = ["/usr/bin/systemctl", "--user", "start", "desk.service"]
        #expect(
            try TestProcess(start, environment: ["XDG_RUNTIME_DIR=\(harness.directory)"]).waitForEnd() == 0)
        let other = EventRecorder()
        let desk = try wake(.unit("desk.service", .user), events: other.events)
        harness.runUntil { other.hasStarted }
        desk.expectExit(within: .zero, grace: .zero)
        harness.loop.runOnce(timeout: .milliseconds(200))
        let pid = try #require(desk.pid)
        #expect(desk.isRunning && !hasEnded(pid), "it ran before, and stays")
        desk.stop(grace: .seconds(5))
        harness.runUntil { other.exit != nil }
        #expect(other.exit == .signalled(SIGTERM) || other.exit == .left("its unit was stopped"))
    }

    @Test("stop ends the whole cgroup, by force when it does not heed; before the start is done it is remembered")
    func stop() throws {
        let systemd = try UserSystemd(
            harness, units: ["never@.service": "[Service]\nType=notify\nExecStart=/bin/sleep 1000\n"])
        defer { systemd.stop() }
        let script =
            "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done') & echo $! > \"$0\"; while :; do sleep 1; done"
        let lease = try wake(.transientUnit(["/bin/sh", "-c", script, harness.path("out")], .user))
        harness.runUntil { told.hasStarted && harness.line(in: "out") != nil }
        let child = try #require(harness.line(in: "out").flatMap { Int32($0) })
        lease.stop(grace: .milliseconds(300))
        harness.loop.runOnce(timeout: .milliseconds(100))
        #expect(told.exit == nil)
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .signalled(SIGKILL))
        harness.runUntil { hasEnded(child) }

        let early = EventRecorder()
        try wake(.transientUnit(["/bin/sleep", "1000"], .user), events: early.events).stop(grace: .seconds(9))
        harness.runUntil { early.isOver }
        #expect(early.failure == nil, "\(early.entries)")
        let waiting = EventRecorder()
        let never = try wake(.unit("never@.service", .user), events: waiting.events)
        for _ in 0..<20 { harness.loop.runOnce(timeout: .milliseconds(10)) }
        #expect(waiting.entries.isEmpty)
        never.stop(grace: .seconds(9))
        harness.runUntil { waiting.isOver }
        #expect(waiting.entries == [.ended(.left("was stopped before it had started"))])
    }

    @Test("A unit is found again by another activator, unless it has ended or was started anew")
    func adoption() throws {
        let systemd = try UserSystemd(harness, units: ["desk.service": "[Service]\nExecStart=/bin/sleep 1000\n"])
        defer { systemd.stop() }
        let lease = try wake(.unit("desk.service", .user))
        harness.runUntil { told.hasStarted }
        let mark = try #require(lease.mark)
        let after = try Harness(busAt: harness.path("bus"))
        let found = EventRecorder()
        let adopted = try #require(after.activator.adopt(mark, wake: WakeID(number: 5), events: found.events))
        after.runUntil { found.hasStarted }
        #expect(adopted.pid == lease.pid && adopted.mark == mark)
        #expect(after.activator.wake(of: PeerUnits(of: try #require(lease.pid))) == WakeID(number: 5))

        lease.stop(grace: .seconds(5))
        after.runUntil { found.exit != nil }
        harness.runUntil { told.exit != nil }
        let gone = EventRecorder()
        _ = after.activator.adopt(mark, wake: WakeID(number: 6), events: gone.events)
        after.runUntil { gone.isOver }
        #expect(gone.entries == [.ended(.left("ended while the daemon was away"))])

        let again = EventRecorder()
        let second = try wake(.unit("desk.service", .user), events: again.events)
        harness.runUntil { again.hasStarted }
        let other = EventRecorder()
        _ = after.activator.adopt(mark, wake: WakeID(number: 7), events: other.events)
        after.runUntil { other.isOver }
        #expect(other.entries == [.ended(.left("ended while the daemon was away"))], "another activation")
        second.stop(grace: .zero)
        harness.runUntil { again.isOver }
    }

    @Test("A unit that systemd starts again by itself has ended: the new process knows nothing of the call")
    func restarted() throws {
        let systemd = try UserSystemd(
            harness,
            units: ["desk.service": "[Service]\nExecStart=/bin/sleep 1000\nRestart=always\nRestartSec=50ms\n"])
        defer { systemd.stop() }
        let lease = try wake(.unit("desk.service", .user))
        harness.runUntil { told.hasStarted }
        kill(try #require(lease.pid), SIGKILL)
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .signalled(SIGKILL))
        let again = EventRecorder()
        let second = try wake(.unit("desk.service", .user), events: again.events)
        harness.runUntil { again.hasStarted }
        #expect(second.isRunning)
        second.stop(grace: .zero)
        harness.runUntil { again.exit != nil }
    }

    @Test("When the manager or the bus dies, the process is watched instead, and stopped")
    func managerDies() throws {
        let systemd = try UserSystemd(harness)
        defer { systemd.stop() }
        let lease = try transient("sleep 1000")
        let second = EventRecorder()
        let other = try wake(.transientUnit(["/bin/sleep", "1000"], .user), events: second.events)
        harness.runUntil { told.hasStarted && second.hasStarted }
        let pids = [try #require(lease.pid), try #require(other.pid)]
        systemd.killManager()
        harness.runUntil { harness.log.messages.contains("systemd left the bus") }
        for _ in 0..<3 { harness.loop.runOnce(timeout: .milliseconds(1)) }
        #expect(told.exit == nil && second.exit == nil)
        kill(pids[0], SIGKILL)
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .left("ended; how is not known, for systemd left the bus"))
        try systemd.killBus()
        other.stop(grace: .milliseconds(10))
        harness.runUntil { second.exit != nil }
        #expect(hasEnded(pids[1]))
    }
}

func comm(of pid: Int32) -> String? {
    contents(of: "/proc/\(pid)/comm").map { String(decoding: $0.dropLast(), as: UTF8.self) }
}
