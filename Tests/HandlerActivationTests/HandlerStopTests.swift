import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

@Suite struct HandlerStopTests {
    @Test("stop ends a handler that heeds SIGTERM")
    func heedsTerm() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/sleep", "1000"]) { exit = $0 }
        handler.stop(grace: .milliseconds(500))
        handler.stop(grace: .zero)
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGTERM), "the second stop has no effect")
        handler.stop(grace: .zero)
        harness.loop.runOnce(timeout: .zero)
        harness.loop.runOnce(timeout: .milliseconds(800))
        #expect(harness.loop.statistics.byCause[.timer] == nil, "the timer went with the handler")
    }

    @Test("stop kills a handler that ignores SIGTERM when its grace is over")
    func ignoresTerm() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]) {
            exit = $0
        }
        harness.runUntil { harness.log.messages == ["ready"] }
        handler.stop(grace: .milliseconds(100))
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGKILL))
    }

    @Test("stop reaches a handler that is suspended")
    func suspended() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/sh", "-c", "echo ready; kill -STOP $$; exit 9"]) { exit = $0 }
        harness.runUntil {
            contents(of: "/proc/\(handler.pid)/stat").map { String(decoding: $0, as: UTF8.self) }?.contains(") T ")
                == true
        }
        handler.stop(grace: .seconds(1_000))
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGTERM))
    }

    @Test("stop ends the handler's children too, also one that ignores SIGTERM and outlives its parent")
    func grandchildren() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let script = """
            sh -c 'trap "" TERM; echo "stubborn $$"; while :; do sleep 0.05; done' &
            sh -c 'echo "meek $$"; while :; do sleep 0.05; done' &
            wait
            """
        let handler = try harness.wake(["/bin/sh", "-c", script]) { exit = $0 }
        harness.runUntil { harness.log.messages.count == 2 }
        let children = harness.log.messages.compactMap { Int32($0.split(separator: " ").last ?? "") }
        #expect(children.count == 2)
        #expect(!children.contains { hasEnded($0) })
        handler.stop(grace: .seconds(1_000))
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGTERM))
        harness.runUntil { children.allSatisfy { hasEnded($0) } }
    }

    @Test("A handler that is expected to exit and does not is stopped, one that stops on its own is let be")
    func expectedExit() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let stubborn = try harness.wake(["/bin/sleep", "1000"]) { exit = $0 }
        stubborn.expectExit(within: .milliseconds(10), grace: .seconds(1_000))
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGTERM))
        exit = nil
        let good = try harness.wake(["/bin/sh", "-c", "sleep 0.05; exit 3"]) { exit = $0 }
        good.expectExit(within: .seconds(1_000), grace: .zero)
        harness.runUntil { exit != nil }
        #expect(exit == .exited(3))
    }

    @Test("stop does not wait for the exit that was expected, nor begin again for it")
    func stopAfterExpectedExit() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]) {
            exit = $0
        }
        harness.runUntil { harness.log.messages == ["ready"] }
        handler.expectExit(within: .seconds(1_000), grace: .seconds(1_000))
        handler.stop(grace: .milliseconds(50))
        handler.expectExit(within: .seconds(1_000), grace: .seconds(1_000))
        harness.runUntil { exit != nil }
        #expect(exit == .signalled(SIGKILL))
    }

    @Test("What a handler leaves behind is killed, in its group and out of it, but not what has no secret")
    func leftBehind() throws {
        let harness = try Harness()
        var exit: HandlerExit?
        let apart = "setsid sleep 1000 & echo $!; env -u RINGWAKE_WAKE_SECRET setsid sleep 1000 & echo $!"
        let handler = try harness.wake(["/bin/sh", "-c", "sleep 1000 & echo $!; \(apart); wait"]) { exit = $0 }
        harness.runUntil { harness.log.messages.count == 3 }
        let children = try harness.log.messages.map { try #require(Int32($0)) }
        harness.runUntil { children.dropFirst().allSatisfy { getsid($0) == $0 && runs($0, "sleep") } }
        kill(handler.pid, SIGKILL)
        harness.runUntil { exit != nil && hasEnded(children[0]) && hasEnded(children[1]) }
        #expect(!hasEnded(children[2]))
        kill(children[2], SIGKILL)
        harness.runUntil { harness.openOutputFiles == 0 }
    }

    private func runs(_ process: Int32, _ program: String) -> Bool {
        contents(of: "/proc/\(process)/comm").map { String(decoding: $0, as: UTF8.self) } == "\(program)\n"
    }
}
