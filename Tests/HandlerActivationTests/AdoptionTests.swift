import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

/// A handler that runs is found again by another activator, as by a daemon that was restarted.
@Suite struct AdoptionTests {
    private let before: Harness
    private let after: Harness
    private let told = EventRecorder()

    init() throws {
        before = try Harness()
        after = try Harness()
    }

    private func adopt(_ mark: HandlerMark?) throws -> (any HandlerLease)? {
        after.activator.adopt(try #require(mark), wake: WakeID(number: 9), events: told.events)
    }

    @Test("A process that runs is taken up, and its end is told, without the status")
    func runs() throws {
        var exit: HandlerExit?
        let handler = try before.wake(["/bin/sh", "-c", "exec sleep 1000"]) { exit = $0 }
        let lease = try #require(try adopt(handler.lease.mark))
        #expect(told.entries == [.started(handler.pid)])
        #expect(lease.isRunning && lease.pid == handler.pid && lease.wake == WakeID(number: 9))
        #expect(lease.mark == handler.lease.mark, "to be written down again")
        kill(handler.pid, SIGKILL)
        after.runUntil { told.exit != nil }
        #expect(!lease.isRunning && lease.mark == nil)
        guard case .left(let how) = told.exit else { return #expect(Bool(false), "\(told.entries)") }
        #expect(how.contains("the daemon was restarted"))
        before.runUntil { exit != nil }
    }

    @Test("A process that has ended is not taken up, nor another that has its number now")
    func ended() throws {
        var exit: HandlerExit?
        let handler = try before.wake(["/bin/sleep", "1000"]) { exit = $0 }
        let mark = try #require(handler.lease.mark)
        guard case .process(let identity) = mark else { return #expect(Bool(false)) }
        let earlier = ProcessIdentity(pid: identity.pid, startTime: identity.startTime - 1)
        #expect(try adopt(.process(earlier)) == nil)
        #expect(handler.lease.isRunning)
        handler.stop(grace: .zero)
        before.runUntil { exit != nil }
        #expect(handler.lease.mark == nil)
        #expect(try adopt(mark) == nil)
        #expect(told.entries.isEmpty)
    }

    @Test("A process that has ended and that its parent has not fetched yet is not taken up")
    func zombie() throws {
        let handler = try before.wake(["/bin/sleep", "1000"]) { _ in }
        let mark = try #require(handler.lease.mark)
        kill(handler.pid, SIGKILL)
        // Its parent, the loop of the harness before, does not turn meanwhile.
        while !hasEnded(handler.pid) { usleep(1_000) }
        #expect(try adopt(mark) == nil)
        #expect(told.entries.isEmpty)
        before.runUntil { !handler.isRunning }
    }

    @Test("A mark that was made up names nobody", arguments: [0, -1, 1, Int32.min, Int32.max])
    func madeUp(pid: Int32) throws {
        #expect(try adopt(.process(ProcessIdentity(pid: pid, startTime: 0))) == nil)
    }

    @Test("A process that was taken up is stopped with its group, by force when it does not heed")
    func stop() throws {
        var exit: HandlerExit?
        let script = "trap '' TERM; (trap '' TERM; sleep 1000) & echo $!; wait"
        let handler = try before.wake(["/bin/sh", "-c", script]) { exit = $0 }
        before.runUntil { !before.log.messages.isEmpty }
        let child = try #require(Int32(before.log.messages[0]))
        let lease = try #require(try adopt(handler.lease.mark))
        lease.stop(grace: .milliseconds(50))
        after.runUntil { told.exit != nil }
        before.runUntil { exit != nil }
        #expect(exit == .signalled(SIGKILL))
        before.runUntil { hasEnded(child) }
    }

    @Test("A process that was taken up and has no call is stopped after its patience, unless it gets another")
    func patience() throws {
        var exit: HandlerExit?
        let handler = try before.wake(["/bin/sleep", "1000"]) { exit = $0 }
        let lease = try #require(try adopt(handler.lease.mark))
        lease.expectExit(within: .milliseconds(20), grace: .zero)
        lease.keep()
        after.loop.runOnce(timeout: .milliseconds(60))
        #expect(told.exit == nil)
        lease.expectExit(within: .milliseconds(20), grace: .seconds(5))
        after.runUntil { told.exit != nil }
        before.runUntil { exit != nil }
        #expect(exit == .signalled(SIGTERM))
    }

    @Test("The name of a program may hold what looks like the end of a name")
    func nameOfProgram() throws {
        var exit: HandlerExit?
        let odd = before.path("a) R 1 (b")
        try #require(symlink("/bin/sleep", odd) == 0)
        defer { unlink(odd) }
        let handler = try before.wake([odd, "1000"]) { exit = $0 }
        #expect(try adopt(handler.lease.mark) != nil)
        handler.stop(grace: .zero)
        before.runUntil { exit != nil }
        after.runUntil { told.exit != nil }
    }
}
