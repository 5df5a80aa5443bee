import CRingwakeLinux
import Glibc
import RunLoop
import Testing

// Both suites change what the whole process shares (the signal mask of a thread, SIGCHLD), so they take turns.
@Suite(.serialized) struct ProcessTests {
    @Test("A signal is delivered in the turn after it came, once for each blocked signal")
    func signals() throws {
        let loop = try RunLoop()
        var seen: [Int32] = []
        try loop.onSignal(SIGURG) { seen.append(SIGURG) }
        try loop.onSignal(SIGWINCH) {
            seen.append(SIGWINCH)
            try? loop.onSignal(SIGWINCH) { seen.append(-SIGWINCH) }
        }
        pthread_kill(pthread_self(), SIGURG)
        loop.runOnce(timeout: .zero)
        pthread_kill(pthread_self(), SIGWINCH)
        loop.runOnce(timeout: .zero)
        pthread_kill(pthread_self(), SIGWINCH)
        loop.runOnce(timeout: .zero)
        #expect(seen == [SIGURG, SIGWINCH, -SIGWINCH])
    }

    @Test("A number that is no signal, or that nobody can catch, is refused", arguments: [0, -1, 65, SIGKILL, SIGSTOP])
    func badSignal(number: Int32) throws {
        let loop = try RunLoop()
        let error = #expect(throws: RunLoopError.self) { try loop.onSignal(number) {} }
        #expect(error?.errno == EINVAL)
    }

    @Test(
        "A child's end is reported with how it ended, and no zombie remains",
        arguments: [
            ("exit 0", ChildExit.exited(0)), ("exit 7", .exited(7)), ("exit 255", .exited(255)),
            ("kill -TERM $$", .signalled(SIGTERM)), ("kill -KILL $$", .signalled(SIGKILL)),
        ])
    func childExit(script: String, expected: ChildExit) throws {
        let loop = try RunLoop()
        let child = try spawnShell(script)
        var owned = stat()
        #expect(fstat(child.pidfd, &owned) == 0)
        var order: [String] = []
        var exit: ChildExit?
        try loop.watchChild(
            pidfd: child.pidfd, beforeReaping: { order.append(kill(child.process, 0) == 0 ? "zombie" : "gone") }
        ) {
            order.append("reaped")
            exit = $0
            loop.stop()
        }
        loop.run()
        #expect(exit == expected)
        #expect(order == ["zombie", "reaped"])
        #expect(waitpid(child.process, nil, WNOHANG) == -1)
        #expect(errno == ECHILD)
        // Tests run side by side: the number may be another's by now, the inode is not (pidfs, Linux 6.9).
        var now = stat()
        let isOpen = fstat(child.pidfd, &now) == 0 && now.st_dev == owned.st_dev && now.st_ino == owned.st_ino
        #expect(!isOpen, "the loop closed the descriptor it owns")
    }

    @Test("A loop made in a process that ignores SIGCHLD still learns how its children end")
    func ignoredChildSignal() throws {
        let loop = try RunLoop()
        let (release, gate) = try pipe()
        let child = try spawnShell("read line; exit 3", input: release)
        var exit: ChildExit?
        // Ignored for an instant only: tests of other suites have children at the same time.
        signal(SIGCHLD, SIG_IGN)
        try loop.watchChild(pidfd: child.pidfd) {
            exit = $0
            loop.stop()
        }
        close(release)
        close(gate)
        loop.run()
        #expect(exit == .exited(3))
    }

    @Test("A child that something else reaped is reported all the same")
    func childReapedElsewhere() throws {
        let loop = try RunLoop()
        let child = try spawnShell("exit 4")
        waitpid(child.process, nil, 0)
        var exit: ChildExit?
        try loop.watchChild(pidfd: child.pidfd) { exit = $0 }
        loop.runOnce(timeout: nil)
        #expect(exit == .exited(-1))
    }
}
