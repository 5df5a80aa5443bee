import ControlProtocol
import RingwakeCore
import Synchronization
import Testing

@testable import RingwakeCommands

@Suite("Control client against a scripted socket")
struct ControlClientTests {
    private func status(of daemon: FakeDaemon, timeout: Duration = .seconds(10)) -> Result<StatusMessage, RingwakeError>
    {
        let client = ControlClient(path: daemon.socket, secret: nil, timeout: timeout)
        do throws(RingwakeError) {
            return .success(try client.get(RequestTarget("status")))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ reply: FakeDaemon.Reply, timeout: Duration = .seconds(10)) -> RingwakeError.Code? {
        guard case .failure(let error) = status(of: FakeDaemon { _ in reply }, timeout: timeout) else { return nil }
        return error.code
    }

    @Test("an answer in pieces and chunks is put together")
    func chunkedAnswer() throws {
        let body = Array(Sample.status().utf8)
        let middle = body.count / 2
        let chunks = [body[..<middle], body[middle...]].map { piece in
            String(piece.count, radix: 16) + "\r\n" + String(decoding: piece, as: UTF8.self) + "\r\n"
        }
        let daemon = FakeDaemon { _ in
            .raw(["HTTP/1.1 200 OK\r\nTransfer-", "Encoding: chunked\r\n\r\n"] + chunks + ["0\r\n\r\n"])
        }
        #expect(try status(of: daemon).get().pid == 42)
    }

    @Test(
        "what is no answer of a daemon is unreachable, and never a crash",
        arguments: [
            [""], ["HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"schema\":1"],
            ["HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"],
            ["SSH-2.0-OpenSSH_9.2\r\n"], ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"],
            ["HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"schema\":1}"],
            ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"],
            ["HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"],
            ["HTTP/1.1 200 OK\r\n" + String(repeating: "x-field: value\r\n", count: 2_000)],
        ])
    func garbage(pieces: [String]) {
        #expect(code(.raw(pieces)) == .unreachable)
    }

    @Test("an answer longer than the limit is refused while it is read")
    func hugeAnswer() {
        let piece = String(repeating: " ", count: 1_000_000)
        let pieces = [String](repeating: piece, count: ControlClient.maximumAnswerBytes / 1_000_000 + 1)
        #expect(code(.raw(["HTTP/1.1 200 OK\r\n\r\n"] + pieces)) == .unreachable)
    }

    @Test("a daemon that stops half-way through its answer times out")
    func slowAnswer() {
        #expect(code(.hang("HTTP/1.1 200 OK\r\nContent-Le"), timeout: .milliseconds(50)) == .timedOut)
        #expect(code(.hang(""), timeout: .milliseconds(50)) == .timedOut)
    }

    @Test("a command's own deadline bounds a request, and a request never waits without end")
    func ownDeadline() {
        let client = ControlClient(path: "/nowhere", secret: nil)
        #expect(client.ending(at: nil).timeout == client.timeout)
        #expect(client.ending(at: Deadline(after: .seconds(3600))).timeout == client.timeout)
        #expect(client.ending(at: Deadline(after: .seconds(2))).timeout <= .seconds(2))
        #expect(client.ending(at: Deadline(after: .zero)).timeout == .milliseconds(1))
    }

    @Test("a newer schema is said, not guessed at")
    func newerSchema() throws {
        let daemon = FakeDaemon { _ in .json(#"{"schema":2,"pid":1}"#) }
        guard case .failure(let error) = status(of: daemon) else { throw RingwakeError(.failed, "it was read") }
        #expect(error.code == .failed && error.message.contains("schema 2"))
    }

    @Test("the wake secret goes along as a bearer token, and only when there is one")
    func secret() {
        let daemon = FakeDaemon { _ in .json(Sample.call("ringing")) }
        let environment = [
            "RINGWAKE_WAKE_SECRET": "s3cret", "RINGWAKE_CALL": "C 1", "RINGWAKE_APP": "com.example.phone",
        ]
        #expect(ringwake(["call", "ring"], at: daemon, environment: environment).status == 0)
        #expect(ringwake(["call", "ring", "C2"], at: daemon).status == 0)
        #expect(
            daemon.requestLines == [
                "POST /v1/calls/C%201/ring?app=com.example.phone HTTP/1.1", "POST /v1/calls/C2/ring HTTP/1.1",
            ])
        #expect(daemon.requests[0].contains("authorization: Bearer s3cret\r\n"))
        #expect(!daemon.requests[1].contains("authorization"))
    }
}

@Suite("ringwake watch")
struct WatchTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunk(_ text: String) -> String {
        String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n"
    }

    private static let ringing =
        #"{"schema":1,"event":"call","app":"a.b","atUs":7,"call":"C1","muted":false,"number":1,"state":"ringing","#
        + #""new":1}"#

    @Test("--count ends it after that many events, and NDJSON passes unknown members through")
    func count() {
        let daemon = FakeDaemon { _ in
            .hang(Self.head + Self.chunk(Self.ringing + "\n" + Self.ringing.prefix(10)) + Self.chunk("\n"))
        }
        let ran = ringwake(["watch", "--json", "--count", "1", "--app", "a.b"], at: daemon)
        #expect(ran.status == 0)
        #expect(ran.output == Self.ringing + "\n")
        #expect(daemon.requestLines == ["GET /v1/events?app=a.b HTTP/1.1"])
    }

    @Test("an event split over chunks is one line for people")
    func splitEvent() {
        let daemon = FakeDaemon { _ in
            .hang(
                Self.head + Self.chunk(String(Self.ringing.prefix(20))) + Self.chunk(Self.ringing.dropFirst(20) + "\n"))
        }
        let ran = ringwake(["watch", "--count", "1"], at: daemon)
        #expect(ran.output == "+7 us         call    ringing     a.b  C1\n")
    }

    @Test("too few events before --timeout is status 6; without --count the time just ends it")
    func timeout() {
        let daemon = FakeDaemon { _ in .hang(Self.head + Self.chunk(Self.ringing + "\n")) }
        let short = ringwake(["watch", "--count", "2", "--timeout", "500ms"], at: daemon)
        #expect(short.status == 6 && short.errors.contains("1 of 2 events"))
        #expect(ringwake(["watch", "--timeout", "500ms"], at: daemon).status == 0)
    }

    @Test("a stream that the daemon closes is opened again, and the handler of the call claims it")
    func reopened() {
        let end = Self.ringing.replacing(#""state":"ringing""#, with: #""state":"ended""#)
        let streams = Mutex(0)
        let daemon = FakeDaemon { line in
            guard line.contains("/v1/events") else { return .json(status: 409, #"{"schema":1,"error":"conflict"}"#) }
            let count = streams.withLock { count in
                count += 1
                return count
            }
            return count == 1
                ? .raw([Self.head, Self.chunk(Self.ringing + "\n")]) : .hang(Self.head + Self.chunk(end + "\n"))
        }
        let ran = ringwake(
            ["watch", "--json", "--call", "C1"], at: daemon,
            environment: ["RINGWAKE_CALL": "C1", "RINGWAKE_WAKE_SECRET": "s"])
        #expect(ran.status == 0 && ran.errors.isEmpty)
        #expect(ran.output == Self.ringing + "\n" + end + "\n", "it ends with the call")
        #expect(daemon.requestLines.contains("POST /v1/calls/C1/claim HTTP/1.1"))
    }

    private static func event(_ number: Int, _ state: String) -> String {
        ringing.replacing(#""number":1"#, with: #""number":\#(number)"#)
            .replacing(#""state":"ringing""#, with: #""state":"\#(state)""#) + "\n"
    }

    @Test("a stream that is opened again has the ends that were missed, and no end twice")
    func missedEnds() {
        let daemon = FakeDaemon { line in
            line.contains("since=5")
                ? .hang(Self.head + Self.chunk(Self.event(6, "ended") + Self.event(5, "ended")))
                : .raw([Self.head, Self.chunk(Self.event(6, "ended") + Self.event(5, "ringing"))])
        }
        let ran = ringwake(["watch", "--json", "--count", "3", "--timeout", "20s"], at: daemon)
        let expected = Self.event(6, "ended") + Self.event(5, "ringing") + Self.event(5, "ended")
        #expect(ran.status == 0 && ran.output == expected)
        #expect(daemon.requestLines == ["GET /v1/events HTTP/1.1", "GET /v1/events?since=5 HTTP/1.1"])
    }

    @Test("a daemon that does not come back is waited for until the timeout")
    func away() {
        let daemon = FakeDaemon { _ in .raw([Self.head]) }
        let ran = ringwake(["watch", "--timeout", "300ms"], at: daemon)
        #expect(ran.status == 0 && ran.errors.contains("waiting until it is back"))
        #expect(ringwake(["watch", "--count", "1", "--timeout", "300ms"], at: daemon).status == 6)
        #expect(ringwake(["app", "connect", "a.b"], at: daemon).status == 8, "its secret is lost")
    }

    @Test("a stream that is not JSON is status 8")
    func brokenStream() {
        for pieces in [
            [Self.head, Self.chunk("not json\n")], [Self.head, "zz\r\n"],
        ] {
            #expect(ringwake(["watch", "--timeout", "10s"], at: FakeDaemon { _ in .raw(pieces) }).status == 8)
        }
    }

    @Test("an event without end is refused while it is read")
    func endlessEvent() {
        let text = Self.chunk(String(repeating: "x", count: EventStream.maximumLineBytes + 1))
        let ran = ringwake(["watch", "--timeout", "20s"], at: FakeDaemon { _ in .hang(Self.head + text) })
        #expect(ran.status == 8 && ran.errors.contains("longer than"))
    }

    @Test("a refusal is the daemon's own message")
    func refused() {
        let daemon = FakeDaemon { _ in .json(status: 403, #"{"schema":1,"error":"not-permitted","message":"no"}"#) }
        let ran = ringwake(["watch"], at: daemon)
        #expect(ran.status == 4 && ran.errors == "ringwake: no\n")
    }
}
