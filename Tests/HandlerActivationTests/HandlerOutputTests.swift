import Glibc
import HandlerActivation
import Logging
import RingwakeCore
import RunLoop
import Testing

@Suite struct HandlerOutputTests {
    @Test("Each line of both streams is logged with app, call and pid; the last needs no end")
    func lines() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let script = "echo out; echo err >&2; printf 'bad \\033[2J\\377\\n'; printf unfinished"
        let handler = try harness.wake(["/bin/sh", "-c", script], call: "c\u{1b}1") { exit = $0 }
        harness.runUntil { exit != nil }
        #expect(harness.log.messages == ["out", "err", "bad \\u{1b}[2J\u{fffd}", "unfinished"])
        #expect(harness.log.all.allSatisfy { $0.level == .info })
        #expect(
            harness.log.all.first?.metadata == [
                "app": "com.example.phone", "call": "c\\u{1b}1", "pid": "\(handler.pid)", "stream": "output",
            ])
        #expect(harness.openOutputFiles == 0)
    }

    @Test("A line is logged while the handler runs, by at most one wakeup", arguments: ["/tmp", "/dev/shm"])
    func linesWhileRunning(directory: String) throws {
        let harness = try Harness(in: directory)
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/sh", "-c", "sleep 0.1; echo one; exec sleep 1000"]) { exit = $0 }
        harness.runUntil { harness.log.messages == ["one"] }
        #expect(exit == nil)
        #expect(Set(harness.loop.statistics.byCause.keys).isSubset(of: [.handlerOutput, .timeout, .interruption]))
        #expect(harness.loop.statistics.byCause[.handlerOutput] ?? 0 <= 1, "one line, at most one wakeup")
        handler.stop(grace: .zero)
        harness.runUntil { exit != nil }
    }

    @Test("A handler that prints in a tight loop is logged within the budget, keeps little memory, starves nobody")
    func flood() throws {
        let harness = try Harness(in: "/dev/shm")
        var exit: HandlerExit?
        var ticks = 0
        var nextTick: Timer?
        func tick() {
            ticks += 1
            nextTick = harness.loop.schedule(
                at: harness.loop.now.advanced(by: .milliseconds(1)), tolerance: .zero, tick)
        }
        tick()
        let start = BootClock.now()
        let handler = try harness.wake(["/usr/bin/yes"]) { exit = $0 }
        var status = stat()
        harness.runUntil {
            stat("/proc/\(handler.pid)/fd/1", &status)
            return harness.log.messages.contains { $0.contains("suppressed") }
                && harness.log.messages.contains { $0.contains("bytes skipped") } && status.st_size > 1 << 26
                // What was read was given back.
                && Int(status.st_blocks) * 512 < Int(status.st_size) / 2
        }
        handler.stop(grace: .zero)
        harness.runUntil { exit != nil }
        let seconds = Int(start.duration(to: BootClock.now()).components.seconds) + 1
        #expect(harness.log.messages.count { $0 == "y" } <= 200 + 50 * seconds)
        #expect(harness.log.messages.count { $0 != "y" } <= 4 * seconds + 4)
        #expect(ticks > 10)
        nextTick.map(harness.loop.cancel)
        #expect(harness.openOutputFiles == 0)
    }

    @Test("Of a backlog over the limit the newest lines are kept, and the rest is said to be skipped")
    func backlog() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let script = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"
        let handler = try harness.wake(["/bin/sh", "-c", script]) { exit = $0 }
        while !hasEnded(handler.pid) { usleep(1_000) }
        harness.runUntil { exit != nil }
        #expect(harness.log.messages.count == 2)
        #expect(harness.log.messages.first == "last")
        #expect(harness.log.messages.last?.contains(" bytes skipped: ") == true)
        #expect(harness.log.all.last?.level == .warning)
    }

    @Test("A shell that empties its log by opening /dev/stderr goes on being logged")
    func truncation() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let script = "echo a long first line; sleep 0.1; echo two > /dev/stderr; sleep 0.1; echo three"
        _ = try harness.wake(["/bin/sh", "-c", script]) { exit = $0 }
        harness.runUntil { exit != nil }
        #expect(harness.log.messages == ["a long first line", "two", "three"])
    }

    @Test("What a program prints that outlives its handler is logged until it is gone")
    func orphans() throws {
        let harness = try Harness()
        // It ends when the other has a session of its own, and so tells that by a line.
        let script = """
            mkfifo "\(harness.path("fifo"))"; exec 3<>"\(harness.path("fifo"))"
            env -u RINGWAKE_WAKE_SECRET setsid sh -c 'echo >&3; sleep 0.2; echo late' & read -r line <&3; echo early
            """
        #expect(try harness.runShell(script) == .exited(0))
        #expect(harness.log.messages == ["early"])
        #expect(harness.openOutputFiles == 1)
        harness.runUntil { harness.openOutputFiles == 0 }
        #expect(harness.log.messages == ["early", "late"])
    }

    @Test("A handler whose daemon is gone goes on: what it writes succeeds, and no signal comes")
    func outlivesTheReader() throws {
        let harness = try Harness()
        var inner: Harness? = try Harness()
        let marker = harness.path("out")
        let script = """
            echo ready; sleep 0.2
            for n in 1 2 3 4 5; do head -c 100000 /dev/zero || exit 1; echo err >&2 || exit 2; done
            cat > "$0"
            """
        let handler = try inner?.wake(["/bin/sh", "-c", script, marker]) { _ in Issue.record("its loop is gone") }
        inner?.runUntil { inner?.log.messages == ["ready"] }
        inner = nil
        let pid = try #require(handler?.pid)
        var status: Int32 = -1
        #expect(waitpid(pid, &status, 0) == pid)
        #expect(status == 0, "it exited by itself with 0")
        #expect(contents(of: marker)?.starts(with: Array("{\"schema\":1,".utf8)) == true)
    }

    @Test("A call is woken without a log when no file for the output can be made")
    func noRuntimeDirectory() throws {
        let harness = try Harness()
        rmdir(harness.directory)
        #expect(try harness.runShell("echo lost") == .exited(0))
        #expect(harness.log.messages == ["the handler's output is not logged"])
        #expect(harness.log.all.first?.metadata["reason"]?.hasSuffix("No such file or directory") == true)
    }
}
