import DeviceServices
import Glibc
import RunLoop
import Testing

@Suite("What becomes of a ring when the daemon is killed") struct RingAfterDaemonTests {
    /// Rings with a script until two processes have written their ids, and lets go of everything that the daemon
    /// holds, as the kernel does when it is killed.
    private func ringAndDie(_ world: World, _ script: String) throws -> [Int32] {
        let loop = try RunLoop()
        let out = world.path("out")
        let alerts = CallAlerts(
            runLoop: loop, logger: world.logger, sessionBus: world.absentService(),
            environment: ["PATH": "/usr/bin:/bin"],
            runtimeDirectory: world.directory)
        alerts.settings = RingSettings(
            command: [
                "/bin/sh", "-c", "\(script)\necho $$ >> \(out); sleep 1000 & echo $! >> \(out); while :; do wait; done",
            ],
            notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { world.lines(of: "out").count == 2 }
        return world.lines(of: "out").compactMap { Int32($0) }
    }

    @Test("It ends by itself: the kernel signals the group when the daemon's end of the pipe closes")
    func dies() throws {
        let world = try World()
        let pids = try ringAndDie(world, "")
        world.runUntil { pids.allSatisfy { hasEnded($0) } }
    }

    @Test("A ring that closed its input lives on, and is ended by the next daemon")
    func survivor() throws {
        let world = try World()
        let pids = try ringAndDie(world, "exec </dev/null; trap '' TERM")
        world.settle()
        #expect(pids.count == 2 && !pids.contains { hasEnded($0) })
        _ = CallAlerts(
            runLoop: world.loop, logger: world.logger, sessionBus: world.absentService(), environment: [:],
            runtimeDirectory: world.directory)
        world.runUntil { pids.allSatisfy { hasEnded($0) } }
        #expect(world.log.count(of: "a ring that outlived the daemon was ended") == 1)
        #expect(access(world.path("ring.pid"), F_OK) != 0)
    }

    @Test("A process that has the number of a former ring is left alone, and a spoiled file is no harm")
    func stranger() throws {
        let world = try World()
        let stranger = try world.start(["/bin/sleep", "1000"])
        try world.write(
            """
            process \(stranger) 12345
            process 1 1
            process -1 1
            process 99999999999 1
            process \(stranger)
            notification :1.5 notanumber
            \u{0}\u{1}garbage garbage garbage
            """, to: "ring.pid")
        _ = CallAlerts(
            runLoop: world.loop, logger: world.logger, sessionBus: world.absentService(), environment: [:],
            runtimeDirectory: world.directory)
        world.settle()
        #expect(!hasEnded(stranger))
        #expect(access(world.path("ring.pid"), F_OK) != 0)
    }

    @Test("A directory that cannot be written to is told once, and it rings")
    func unwritable() throws {
        let world = try World()
        let alerts = CallAlerts(
            runLoop: world.loop, logger: world.logger, sessionBus: world.absentService(), environment: [:],
            runtimeDirectory: world.path("absent"), period: .milliseconds(20))
        alerts.settings = RingSettings(
            command: ["/bin/sh", "-c", "echo $$ >> \(world.path("out"))"], notifications: false)
        alerts.show([try makeCall()])
        world.runUntil { world.lines(of: "out").count >= 2 }
        #expect(
            world.log.count(of: "what rings cannot be written down; it may outlive a daemon that is killed") == 1)
        alerts.close()
    }
}
