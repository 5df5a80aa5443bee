import CRingwakeLinux
import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

@Suite struct ExecHandlerActivatorTests {
    @Test("The payload arrives on standard input byte for byte, whatever its bytes and its size")
    func payload() throws {
        let harness = try Harness()
        let everyByte = (0...255).map { UInt8($0) }
        for payload in [Array("{}".utf8), everyByte, Array(repeating: UInt8(ascii: "\n"), count: 300_000)] {
            let exit = try harness.run(["/bin/sh", "-c", "cat > \"$0\"", harness.path("out")], payload: payload)
            #expect(exit == .exited(0))
            let seen = try #require(contents(of: harness.path("out")))
            let start = try #require(seen.firstRange(of: Array("\"payload\":".utf8))?.upperBound)
            #expect(Array(seen[start...].dropLast()) == payload)
            #expect(seen.last == UInt8(ascii: "}"))
        }
    }

    @Test("A handler has three descriptors, also when the daemon's others are not close-on-exec")
    func descriptors() throws {
        let harness = try Harness()
        // Free numbers: others are those of the suites that run at the same time.
        let leaks = [50, 51, 200].map { fcntl(0, F_DUPFD, $0 as Int32) }
        defer { for leak in leaks { close(leak) } }
        _ = try harness.run(["/bin/ls", "-l", "/proc/self/fd"])
        let targets = harness.log.messages.filter { $0.contains(" -> ") && !$0.hasSuffix("/fd") }
        #expect(targets.count == 3, "\(targets)")
        #expect(targets.first?.contains("0 -> /memfd:ringwake-request") == true)
    }

    @Test("What a handler reads cannot be changed, not even by the handler")
    func inputIsSealed() throws {
        let harness = try Harness()
        _ = try harness.run(["/bin/sh", "-c", "echo x 1>&0; echo status $?"])
        #expect(harness.log.messages.contains("status 1") || harness.log.messages.contains("status 2"))
    }

    @Test("A handler leads its own process group, with no signal blocked or ignored")
    func groupAndSignals() throws {
        let harness = try Harness()
        signal(SIGPIPE, SIG_IGN)
        try harness.loop.onSignal(SIGWINCH) {}
        var exit: HandlerExit?
        let handler = try harness.wake(["/bin/cat", "/proc/self/status", "/proc/self/stat"]) { exit = $0 }
        harness.runUntil { exit != nil }
        let lines = harness.log.messages
        #expect(lines.contains("SigBlk:\t0000000000000000"))
        // Signals 32 and 33 are the C library's own, and it has them ignored in whatever it spawns.
        let ignored = lines.first { $0.hasPrefix("SigIgn:\t") }.flatMap { UInt64($0.dropFirst(8), radix: 16) }
        #expect(ignored.map { $0 & ~0x1_8000_0000 } == 0)
        let fields = lines.last?.split(separator: " ").map(String.init)
        #expect(fields?.first == "\(handler.pid)")
        #expect(fields?.dropFirst(4).first == "\(handler.pid)")
        #expect(!handler.isRunning)
    }

    @Test("A handler gets the base environment without what is the daemon's own, and what names the call")
    func environment() throws {
        let harness = try Harness(environment: [
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LISTEN_FDS": "1", "LISTEN_PID": "1", "NOTIFY_SOCKET": "/n",
            "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "MAINPID": "1", "INVOCATION_ID": "1", "JOURNAL_STREAM": "8:1",
            "RINGWAKE_WAKE_SECRET": "old", "RINGWAKE_CALL": "old", "RINGWAKE_SOCKET": "old", "": "x", "A=B": "x",
            "NUL": "a\u{0}b", "EMPTY": "",
        ])
        _ = try harness.run(["/usr/bin/env"], call: "id with = and spaces")
        #expect(
            harness.log.messages.sorted() == [
                "EMPTY=", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "RINGWAKE_APP=com.example.phone",
                "RINGWAKE_CALL=id with = and spaces", "RINGWAKE_SOCKET=/run/ringwake/control.sock",
                "RINGWAKE_WAKE_SECRET=\(harness.secret)",
            ])
    }

    @Test("Arguments are passed as they are: no shell looks at them")
    func arguments() throws {
        let harness = try Harness()
        _ = try harness.run(["/usr/bin/printf", "[%s]\n", "a b", "$HOME", "", "*;'\""])
        #expect(harness.log.messages == ["[a b]", "[$HOME]", "[]", "[*;'\"]"])
    }

    @Test(
        "How a handler ends is told once",
        arguments: [("exit 0", HandlerExit.exited(0)), ("exit 3", .exited(3)), ("kill -SEGV $$", .signalled(SIGSEGV))])
    func exits(script: String, expected: HandlerExit) throws {
        let harness = try Harness()
        var exits: [HandlerExit] = []
        let handler = try harness.wake(["/bin/sh", "-c", script]) { exits.append($0) }
        #expect(handler.isRunning)
        #expect(exits.isEmpty, "never from within wake")
        harness.runUntil { !exits.isEmpty }
        for _ in 0..<3 { harness.loop.runOnce(timeout: .zero) }
        #expect(exits == [expected])
        #expect(waitpid(handler.pid, nil, WNOHANG) == -1, "no zombie")
    }

    @Test("A command that cannot be executed is an error that says why and what to do, and leaves nothing open")
    func badCommands() throws {
        let harness = try Harness()
        let app = try #require(AppID("com.example.phone"))
        let notExecutable = try harness.program("#!/bin/sh\n", mode: 0o644)
        var cases: [([String], String)] = [
            ([], "its command is empty"), ([""], "its command is empty"),
            (["phone-handler", "-x"], "'phone-handler' is not an absolute path"),
            (["/no/such/handler"], "there is no file /no/such/handler; install it"),
            (["/etc/passwd/x"], "there is no file /etc/passwd/x"), (["/usr/bin"], "/usr/bin is a directory"),
            ([notExecutable], "is not executable; run chmod +x \(notExecutable)"), (["/bin/sh", "a\u{0}b"], "NUL"),
        ]
        // Root may execute whatever has any x bit, so only what has none shows the case to everybody.
        for (command, message) in cases {
            let error = #expect(throws: RingwakeError.self) { _ = try harness.run(command) }
            #expect(error?.code == .badConfiguration)
            #expect(error?.message.contains(message) == true, "\(String(describing: error?.message))")
            #expect(error?.message.contains("apps.d/com.example.phone.toml") == true)
            #expect(throws: RingwakeError.self) { try HandlerCommand.check(command, of: app) }
        }
        cases = [
            (["#!/no/such/interpreter -x\n"], "its interpreter '/no/such/interpreter' is not"),
            (["echo no first line\n"], "is no program for this machine"),
        ]
        for (text, message) in cases {
            let path = try harness.program(text[0])
            if text[0].hasPrefix("#!") {
                #expect(throws: RingwakeError.self) { try HandlerCommand.check([path], of: app) }
            }
            let error = #expect(throws: RingwakeError.self) { _ = try harness.run([path]) }
            #expect(error?.code == .badConfiguration)
            #expect(error?.message.contains(message) == true, "\(String(describing: error?.message))")
        }
        try HandlerCommand.check(["/bin/sh", "-c"], of: app)
        #expect(harness.openOutputFiles == 0)
    }

    @Test("A call id with a NUL character is refused: no environment can hold it")
    func nulInCall() throws {
        let harness = try Harness()
        let error = #expect(throws: RingwakeError.self) { _ = try harness.run(["/bin/true"], call: "a\u{0}b") }
        #expect(error?.code == .invalidRequest)
    }

    @Test("A hundred handlers at once each get their own call and end")
    func manyAtOnce() throws {
        let harness = try Harness()
        var ended = 0
        for number in 0..<100 {
            _ = try harness.wake(["/bin/sh", "-c", "echo \"$RINGWAKE_CALL\""], call: "call-\(number)") { _ in ended += 1
            }
        }
        harness.runUntil { ended == 100 }
        #expect(Set(harness.log.messages) == Set((0..<100).map { "call-\($0)" }))
        #expect(harness.openOutputFiles == 0)
    }
}
