import CRingwakeLinux
import DeviceServices
import Glibc
import RunLoop
import Testing

@Suite("Ringing by commands") struct RingTests {
    private func alerts(_ world: World, period: Duration = .milliseconds(20)) -> CallAlerts {
        CallAlerts(
            runLoop: world.loop, logger: world.logger, sessionBus: world.absentService(),
            environment: ["PATH": "/usr/bin:/bin", "LISTEN_FDS": "1", "COLOUR": "blue"],
            runtimeDirectory: world.directory, period: period)
    }

    private func shell(_ script: String) -> [String] { ["/bin/sh", "-c", script] }

    private func pids(_ world: World, _ name: String = "out") -> [Int32] {
        world.lines(of: name).compactMap { Int32($0) }
    }

    @Test("A command that ends is started again while a call rings, and is not once none does")
    func repeated() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(command: shell("echo $$ >> \(world.path("out"))"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count >= 3 }
        alerts.show([])
        world.runUntil { world.text(of: "ring.pid").isEmpty }
        let count = pids(world).count
        world.settle()
        #expect(pids(world).count == count)
        #expect(access(world.path("ring.pid"), F_OK) != 0)
        #expect(alerts.failures.isEmpty)
    }

    @Test("A command that ends at once does not run again before the period is over")
    func period() throws {
        let world = try World()
        let alerts = alerts(world, period: .seconds(1_000))
        alerts.settings = RingSettings(command: shell("echo $$ >> \(world.path("out"))"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).first.map { hasEnded($0) } ?? false }
        world.settle()
        #expect(pids(world).count == 1)
        alerts.show([])
        let before = world.loop.statistics.caused
        world.settle()
        #expect(world.loop.statistics.caused == before, "nothing is left that could wake the loop")
    }

    @Test("The end of the ring ends the command with its children, also those that ignore SIGTERM")
    func group() throws {
        let world = try World()
        let alerts = alerts(world)
        let out = world.path("out")
        alerts.settings = RingSettings(
            command: shell(
                "trap '' TERM; (echo $(exec sh -c 'echo $PPID') >> \(out); sleep 1000) & echo $$ >> \(out); wait"),
            notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count == 2 }
        #expect(pids(world).allSatisfy { !hasEnded($0) })
        alerts.show([])
        world.runUntil { pids(world).allSatisfy { hasEnded($0) } }
        world.runUntil { access(world.path("ring.pid"), F_OK) != 0 }
    }

    @Test("What a command leaves behind when it ends does not sound on")
    func leftBehind() throws {
        let world = try World()
        let alerts = alerts(world, period: .seconds(1_000))
        alerts.settings = RingSettings(
            command: shell("sleep 1000 & echo $! >> \(world.path("out"))"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).first.map { hasEnded($0) } ?? false }
        alerts.close()
    }

    @Test("A ring that takes its time to end disturbs the next one in nothing")
    func slowEnd() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            command: shell(
                "trap 'sleep 0.3; exit 3' TERM; echo $$ >> \(world.path("out")); while :; do sleep 0.02; done"),
            notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count == 1 }
        alerts.show([])
        alerts.show([try makeCall("b")])
        world.runUntil { pids(world).count == 2 && pids(world).first.map { hasEnded($0) } == true }
        world.settle()
        #expect(pids(world).count == 2)
        #expect(pids(world).last.map { hasEnded($0) } == false)
        #expect(alerts.failures.isEmpty)
        alerts.show([])
        world.runUntil { pids(world).allSatisfy { hasEnded($0) } }
        let timers = world.loop.statistics.byCause[.timer]
        world.loop.runOnce(timeout: .milliseconds(1_500))
        #expect(world.loop.statistics.byCause[.timer] == timers, "nobody is killed that has ended")
    }

    @Test("A ring that stops between two starts of its command and begins again rings once")
    func againInPause() throws {
        let world = try World()
        let alerts = alerts(world, period: .milliseconds(300))
        let out = world.path("out")
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(out); test $(wc -l < \(out)) -eq 1 || exec sleep 1000"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).first.map { hasEnded($0) } ?? false }
        world.runUntil { access(world.path("ring.pid"), F_OK) != 0 }
        alerts.show([])
        alerts.show([try makeCall("b")])
        world.runUntil { pids(world).count == 2 }
        world.loop.runOnce(timeout: .milliseconds(600))
        world.settle()
        #expect(pids(world).count == 2)
        alerts.close()
    }

    @Test("Two calls ring as one, until the last of them ends")
    func oneRing() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(world.path("out")); exec sleep 1000"),
            vibrate: shell("echo $$ >> \(world.path("motor")); exec sleep 1000"), notifications: false)
        alerts.show([try makeCall("a")])
        world.runUntil { pids(world).count == 1 && pids(world, "motor").count == 1 }
        alerts.show([try makeCall("a"), try makeCall("b")])
        alerts.show([try makeCall("b")])
        world.settle()
        #expect(pids(world).count == 1)
        #expect(pids(world, "motor").count == 1)
        #expect(pids(world).allSatisfy { !hasEnded($0) })
        alerts.show([])
        world.runUntil { (pids(world) + pids(world, "motor")).allSatisfy { hasEnded($0) } }
    }

    @Test("The ringtone of the app stands where the placeholder is, else that of the settings")
    func ringtone() throws {
        let world = try World()
        let alerts = alerts(world)
        let script = "echo \"$1 $2 $COLOUR $LISTEN_FDS\" >> \(world.path("out")); exec sleep 1000"
        alerts.settings = RingSettings(
            command: shell(script) + ["sh", "--file={file}", "{file}{file"], ringtone: "/usr/share/a b.oga",
            notifications: false)
        alerts.show([try makeCall("a")])
        world.runUntil { world.lines(of: "out").count == 1 }
        alerts.show([])
        alerts.show([try makeCall("b", ringtone: "/{file}.wav")])
        world.runUntil { world.lines(of: "out").count == 2 }
        #expect(
            world.lines(of: "out") == [
                "--file=/usr/share/a b.oga /usr/share/a b.oga{file blue ", "--file=/{file}.wav /{file}.wav{file blue ",
            ])
        alerts.close()
    }

    @Test("A ring command without a ringtone to play is told once, and the phone vibrates")
    func noRingtone() throws {
        let world = try World()
        let alerts = alerts(world)
        var told: [AlertFailure] = []
        alerts.onFailure = { told.append($0) }
        alerts.settings = RingSettings(
            command: ["/bin/true", "{file}"], vibrate: shell("echo $$ >> \(world.path("motor")); exec sleep 1000"),
            notifications: false)
        alerts.show([try makeCall("a")])
        alerts.show([try makeCall("a"), try makeCall("b")])
        world.runUntil { pids(world, "motor").count == 1 }
        #expect(told.map(\.part) == [.ring])
        #expect(told.first?.reason.contains("no ringtone is configured") == true)
        alerts.close()
    }

    @Test("A command that cannot be executed is not tried again, is told once, and stops nothing else")
    func missing() throws {
        let world = try World()
        let alerts = alerts(world)
        var told: [AlertFailure] = []
        alerts.onFailure = { told.append($0) }
        alerts.settings = RingSettings(
            command: ["/nowhere/ring"], vibrate: shell("echo $$ >> \(world.path("motor"))"), notifications: false)
        alerts.show([try makeCall()])
        #expect(told.map(\.part) == [.ring])
        #expect(told.first?.reason.contains("cannot execute /nowhere/ring: No such file or directory") == true)
        world.runUntil { pids(world, "motor").count >= 3 }
        #expect(told.count == 1)
        #expect(alerts.failures.keys.map(\.self) == [.ring])
        alerts.show([])
        alerts.show([try makeCall("b")])
        #expect(told.count == 1, "the same reason is not told again")
        alerts.settings.command = ["relative"]
        #expect(told.count == 2)
        alerts.close()
    }

    @Test("A command that prints for long can write all of it, and its reason is the last line")
    func talkative() throws {
        let world = try World()
        let alerts = alerts(world)
        let command = shell("yes 0123456789 | head -n 90000 || exit 8; exit 7")
        alerts.settings = RingSettings(command: command, notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { alerts.failures[.ring] != nil }
        #expect(alerts.failures[.ring]?.hasSuffix("it exited with status 7: 0123456789") == true)
        alerts.close()
    }

    @Test("A command that fails three times in a row is given up for this ring, and tried again for the next")
    func failing() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(world.path("out")); echo no sound >&2; exit 7"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { alerts.failures[.ring] != nil }
        world.settle()
        #expect(pids(world).count == 3)
        #expect(alerts.failures[.ring]?.contains("it exited with status 7: no sound") == true)
        #expect(world.log.count(of: "a call could not be announced in full") == 1)
        alerts.show([])
        alerts.show([try makeCall("b")])
        world.runUntil { pids(world).count == 6 }
        world.settle()
        #expect(pids(world).count == 6)
        #expect(world.log.count(of: "a call could not be announced in full") == 1)
        alerts.settings.command = shell("echo $$ >> \(world.path("out")); exec sleep 1000")
        world.runUntil { pids(world).count == 7 }
        alerts.show([])
        #expect(alerts.failures.isEmpty, "one that rings until it is stopped has rung")
    }

    @Test("Failures with a success between them are not in a row")
    func failingSometimes() throws {
        let world = try World()
        let alerts = alerts(world)
        let out = world.path("out")
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(out); test $(( $(wc -l < \(out)) % 3 )) -eq 0"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count >= 10 }
        #expect(alerts.failures.isEmpty)
        alerts.close()
    }

    @Test("A call that waits makes one tone, and rings when it is the only one left")
    func waiting() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(world.path("out")); exec sleep 1000"),
            waiting: shell("echo $$ >> \(world.path("tone"))"), notifications: false)
        alerts.show([try makeCall(isWaiting: true)])
        world.runUntil { pids(world, "tone").first.map { hasEnded($0) } ?? false }
        world.runUntil { access(world.path("ring.pid"), F_OK) != 0 }
        alerts.show([try makeCall(title: "Anna B.", isWaiting: true)])
        world.settle()
        #expect(pids(world, "tone").count == 1)
        #expect(pids(world).isEmpty)
        alerts.show([try makeCall(isWaiting: true), try makeCall("b", isWaiting: true)])
        world.runUntil { pids(world, "tone").count == 2 }
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count == 1 }
        alerts.show([try makeCall(), try makeCall("c", isWaiting: true)])
        world.settle()
        #expect(pids(world, "tone").count == 2, "while it rings, nobody needs a tone")
        alerts.close()
    }

    @Test("A tone that does not end is ended with its call")
    func endlessTone() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            waiting: shell("echo $$ >> \(world.path("tone")); exec sleep 1000"), notifications: false)
        alerts.show([try makeCall(isWaiting: true)])
        world.runUntil { pids(world, "tone").count == 1 }
        alerts.show([])
        world.runUntil { pids(world, "tone").allSatisfy { hasEnded($0) } }
        #expect(alerts.failures.isEmpty, "it was not its fault")
        alerts.show([try makeCall("b", isWaiting: true)])
        world.runUntil { pids(world, "tone").count == 2 }
        alerts.close()
    }

    @Test("Settings that change while it rings apply at once")
    func changed() throws {
        let world = try World()
        let alerts = alerts(world)
        alerts.settings = RingSettings(
            command: shell("echo $$ >> \(world.path("out")); exec sleep 1000"), notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { pids(world).count == 1 }
        alerts.settings = RingSettings(
            vibrate: shell("echo $$ >> \(world.path("motor")); exec sleep 1000"), notifications: false)
        world.runUntil { pids(world).allSatisfy { hasEnded($0) } && pids(world, "motor").count == 1 }
        alerts.close()
    }
}
