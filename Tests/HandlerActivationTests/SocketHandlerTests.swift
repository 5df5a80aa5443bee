import CRingwakeLinux
import Glibc
import HandlerActivation
import RingwakeCore
import RunLoop
import Testing

@Suite struct SocketHandlerTests {
    private let harness: Harness
    private let told = EventRecorder()
    private let app: AppID

    init() throws {
        harness = try Harness()
        app = try #require(AppID("com.example.phone"))
    }

    private func wake(path: String? = nil, payload: String = "{}") throws -> any HandlerLease {
        try harness.activator.wake(
            makeRequest(call: "call-1", payload: Array(payload.utf8)), way: .socket(path ?? harness.path("out")),
            secret: "s3cret", events: told.events)
    }

    @Test("A listening handler gets one line that names the socket, the secret and the push")
    func line() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        let lease = try wake(payload: "{\r\n \"n\":\"a\\nb\"\n}")
        #expect(told.entries.isEmpty, "never from within wake")
        harness.runUntil { told.hasStarted && handler.accept() }
        let text = handler.read()
        #expect(
            text.hasPrefix(
                #"{"schema":1,"socket":"/run/ringwake/control.sock","secret":"s3cret","wake":{"schema":1,"kind":"call","#
            ))
        #expect(text.hasSuffix("\"payload\":{   \"n\":\"a\\nb\" }}}\n"))
        #expect(text.filter(\.isNewline).count == 1)
        #expect(told.entries == [.started(nil)])
        #expect(lease.isRunning && lease.pid == nil && lease.mark == nil)
    }

    @Test("The connection is the lease: its end is the handler's")
    func endOfConnection() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        let lease = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        _ = handler.read()
        handler.leave()
        harness.runUntil { told.exit != nil }
        #expect(told.entries == [.started(nil), .ended(.left("closed its connection"))])
        #expect(!lease.isRunning)
    }

    @Test("A handler that closes its connection before it has read the push is said to have")
    func unread() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        _ = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        handler.leave()
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .left("closed its connection, with the push unread"))
    }

    @Test("A handler that nobody holds a reference to stays connected")
    func isKept() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        _ = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        _ = handler.read()
        for _ in 0..<3 { harness.loop.runOnce(timeout: .milliseconds(1)) }
        #expect(!handler.seesEnd)
    }

    @Test("A handler that is stopped sees the end, and is left when its grace is over")
    func stop() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        let lease = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        _ = handler.read()
        lease.stop(grace: .milliseconds(50))
        #expect(handler.seesEnd)
        #expect(told.exit == nil, "it may still say good-bye to its peer")
        harness.runUntil { told.exit != nil }
        #expect(told.exit == .left("was stopped"))
        handler.send(1)
        #expect(errno == EPIPE)
    }

    @Test("A handler that has no call any more is left after its patience, unless it gets another")
    func patience() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        let lease = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        lease.expectExit(within: .milliseconds(20), grace: .zero)
        lease.keep()
        harness.loop.runOnce(timeout: .milliseconds(60))
        #expect(told.exit == nil)
        lease.expectExit(within: .milliseconds(20), grace: .zero)
        harness.runUntil { told.exit != nil }
    }

    @Test("What a handler sends is passed over up to a limit, and then it is left")
    func chatter() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        _ = try wake()
        harness.runUntil { told.hasStarted && handler.accept() }
        handler.send(60_000)
        for _ in 0..<40 { harness.loop.runOnce(timeout: .zero) }
        #expect(told.exit == nil)
        handler.send(10_000)
        harness.runUntil { told.exit != nil }
        #expect(told.exit?.description.contains("nobody asked for") == true)
    }

    @Test("A line that the socket does not take at once is sent as the handler reads")
    func slowReader() throws {
        let handler = try ListeningHandler(path: harness.path("out"))
        _ = try wake(payload: "\"" + String(repeating: "x", count: 900_000) + "\"")
        var text = ""
        harness.runUntil {
            if handler.accept() { text += handler.read() }
            return text.hasSuffix("}}\n")
        }
        #expect(text.utf8.count > 900_000)
        #expect(told.entries == [.started(nil)])
    }

    @Test("A socket that cannot be woken is an error that says why and what to do")
    func failures() throws {
        func failure(_ path: String) -> RingwakeError? {
            #expect(throws: RingwakeError.self) { _ = try wake(path: path) }
        }
        #expect(failure(harness.path("out"))?.code == .badConfiguration)
        #expect(failure(harness.path("out"))?.message.contains("there is no socket \(harness.path("out"))") == true)
        #expect(failure("relative")?.message.contains("is no absolute path") == true)
        #expect(failure("/" + String(repeating: "x", count: 200))?.message.contains("107 bytes") == true)
        #expect(failure("/tmp/a\u{0}b")?.code == .badConfiguration)
        _ = try harness.program("a file")
        #expect(failure(harness.path("program"))?.code == .unreachable)

        var left: ListeningHandler? = try ListeningHandler(path: harness.path("out"))
        let copy = harness.path("program")
        try #require(rename(harness.path("out"), copy) == 0)
        #expect(left != nil)
        left = nil
        let refused = failure(copy)
        #expect(refused?.code == .unreachable)
        #expect(refused?.message.contains("nobody listens") == true)

        let datagram = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(datagram) }
        var address = sockaddr_storage()
        let length = ringwake_unix_address(harness.path("out"), &address)
        try #require(ringwake_bind(datagram, &address, length) == 0)
        #expect(failure(harness.path("out"))?.message.contains("SOCK_STREAM") == true)
        #expect(told.entries.isEmpty)
    }

    @Test("A handler that accepts nothing fills its queue, and that is said")
    func neverAccepts() throws {
        let handler = try ListeningHandler(path: harness.path("out"), backlog: 0)
        var refusal: RingwakeError?
        for _ in 0..<8 where refusal == nil {
            do throws(RingwakeError) {
                _ = try harness.activator.wake(
                    request(), way: .socket(handler.path), secret: "", events: told.events)
            } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .limitReached)
        #expect(refusal?.message.contains("accepts no connection") == true)
    }

    @Test("A socket of another user is told nothing", .enabled(if: geteuid() == 0))
    func stranger() throws {
        chmod(harness.directory, 0o777)
        let script = """
            import os, socket, sys
            os.setuid(65534)
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1)
            print("ready", flush=True)
            c = s.accept()[0]; print("got", len(c.recv(10)), flush=True)
            """
        var exit: HandlerExit?
        let path = harness.path("out")
        _ = try harness.wake(["/usr/bin/python3", "-c", script, path], onExit: { exit = $0 })
        harness.runUntil { harness.log.messages == ["ready"] }
        let error = #expect(throws: RingwakeError.self) { _ = try wake() }
        #expect(error?.code == .notPermitted)
        #expect(error?.message.contains("belongs to user 65534") == true)
        harness.runUntil { exit != nil }
        #expect(harness.log.messages.last == "got 0")
    }

    @Test("A handler that systemd-socket-activate starts for the connection reads the line from its standard input")
    func socketActivated() throws {
        let path = harness.path("out")
        let script = "read -r line; printf '%s\\n' \"$line\" >&2; exec 0<&- 1>&-"
        let listener = try harness.wake(
            ["/usr/bin/systemd-socket-activate", "-l", path, "--accept", "--inetd", "/bin/sh", "-c", script],
            onExit: { _ in })
        harness.runUntil { access(path, F_OK) == 0 }
        let lease = try wake()
        harness.runUntil { told.isOver }
        #expect(told.entries == [.started(nil), .ended(.left("closed its connection"))])
        #expect(!lease.isRunning)
        let line = harness.log.messages.first { $0.hasPrefix("{\"schema\":1,\"socket\":") }
        #expect(line?.hasSuffix("\"payload\":{}}}") == true)
        listener.stop(grace: .zero)
        harness.runUntil { !listener.isRunning }
    }

    @Test("What is known of a socket without connecting is said beforehand")
    func check() throws {
        try HandlerWay.socket(harness.path("out")).check(of: app)
        #expect(throws: RingwakeError.self) { try HandlerWay.socket("relative").check(of: app) }
        let file = try harness.program("a file")
        let error = #expect(throws: RingwakeError.self) { try HandlerWay.socket(file).check(of: app) }
        #expect(error?.message.contains("is no socket") == true)
    }

    private func request() throws(RingwakeError) -> WakeRequest {
        WakeRequest(
            wake: WakeID(number: 7), app: app, call: CallID("c"), attempt: 1,
            receivedAt: BootInstant(nanoseconds: 0), reportBy: BootInstant(nanoseconds: 0), payload: [])
    }
}
