import Glibc
import PushClient
import RingwakeCore
import Synchronization
import Testing

@testable import RingwakeCommands

/// A web server that answers what the test says and remembers what it was asked.
private final class FakeWebServer: Sendable {
    let port: UInt16
    private let server: ScriptedServer
    private let log: FakeDaemon.RequestLog

    var requests: [String] { log.requests.withLock { $0 } }

    /// - Parameter answer: the whole answer to a request, by its head.
    init(_ answer: @escaping @Sendable (_ request: String) -> String) {
        let (listener, port) = ScriptedServer.tcpListener()
        let log = FakeDaemon.RequestLog()
        (self.port, self.log) = (port, log)
        server = ScriptedServer(listener: listener) { connection in
            let request = FakeDaemon.readRequest(connection)
            log.requests.withLock { $0.append(request) }
            FakeDaemon.send(answer(request), connection)
        }
    }

    deinit { server.stop() }

    func url(_ path: String = "/list.csv") -> String { "http://127.0.0.1:\(port)\(path)" }

    static func ok(_ body: String, fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)Connection: close\r\n\r\n" + body
    }

    static func status(_ status: String, fields: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\(fields)Connection: close\r\n\r\n"
    }
}

@Suite("Fetching lists")
struct DownloadTests {
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    private func fetch(
        _ url: String, unlessStill validator: String? = nil
    ) throws(RingwakeError) -> (result: Download.Result, text: String) {
        let pieces = Pieces()
        let result = try Download(userAgent: "test").fetch(url, unlessStill: validator) { pieces.bytes += $0 }
        return (result, String(decoding: pieces.bytes, as: UTF8.self))
    }

    private final class Pieces { var bytes: [UInt8] = [] }

    private func failure(_ url: String) -> RingwakeError? {
        do throws(RingwakeError) {
            _ = try fetch(url)
            return nil
        } catch {
            return error
        }
    }

    @Test("a file comes with its ETag, else with its date, else with nothing that names its state")
    func validators() throws {
        let answers = [
            ("ETag: \"5f-1\"\r\nLast-Modified: Sat, 21 Nov 2026 18:58:52 GMT\r\n", "\"5f-1\""),
            ("Last-Modified: Sat, 21 Nov 2026 18:58:52 GMT\r\n", "Sat, 21 Nov 2026 18:58:52 GMT"), ("", nil),
        ]
        for (fields, validator) in answers {
            let server = FakeWebServer { _ in FakeWebServer.ok("+491\n", fields: fields) }
            let (result, text) = try fetch(server.url())
            #expect(result == .fetched(validator: validator, bytes: 5) && text == "+491\n")
            #expect(server.requests[0].contains("\r\nUser-Agent: test\r\n"))
            #expect(!server.requests[0].contains("If-"))
        }
    }

    @Test("a file that is the same still is not sent again")
    func unchanged() throws {
        let server = FakeWebServer { _ in FakeWebServer.status("304 Not Modified") }
        #expect(try fetch(server.url(), unlessStill: "W/\"5f-1\"").result == .unchanged)
        #expect(try fetch(server.url(), unlessStill: "Sat, 21 Nov 2026 18:58:52 GMT").result == .unchanged)
        #expect(server.requests[0].contains("\r\nIf-None-Match: W/\"5f-1\"\r\n"))
        #expect(server.requests[1].contains("\r\nIf-Modified-Since: Sat, 21 Nov 2026 18:58:52 GMT\r\n"))
        // Nobody asked for it.
        #expect(failure(server.url())?.code == .unreachable)
    }

    @Test("a redirection is followed, and what names the state is the last answer's")
    func redirection() throws {
        let server = FakeWebServer { request in
            request.hasPrefix("GET /list.csv ")
                ? FakeWebServer.status("302 Found", fields: "Location: /other\r\nETag: \"old\"\r\n")
                : FakeWebServer.ok("x", fields: "ETag: \"new\"\r\n")
        }
        #expect(try fetch(server.url()).result == .fetched(validator: "\"new\"", bytes: 1))
    }

    @Test("a redirection to anything but the web, and one without end, is not followed")
    func wrongRedirections() {
        for place in ["file:///etc/passwd", "ftp://127.0.0.1/x"] {
            let server = FakeWebServer { _ in FakeWebServer.status("302 Found", fields: "Location: \(place)\r\n") }
            let error = failure(server.url())
            #expect(error?.code == .unreachable && error?.message.contains("not safe to follow") == true)
        }
        let server = FakeWebServer { _ in FakeWebServer.status("302 Found", fields: "Location: /list.csv\r\n") }
        #expect(failure(server.url())?.message.contains("without end") == true)
        #expect(server.requests.count == 6)
    }

    @Test("a file that is too large is refused at its announcement")
    func tooLarge() {
        let server = FakeWebServer { _ in
            "HTTP/1.1 200 OK\r\nContent-Length: \(Download.maximumBytes + 1)\r\nConnection: close\r\n\r\nx"
        }
        #expect(failure(server.url())?.code == .limitReached)
    }

    @Test("a file that does not say how large it is is refused when too much has come")
    func tooMuch() {
        let chunk = String(repeating: "+", count: 0x800)
        let server = FakeWebServer { _ in
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                + String(repeating: "800\r\n\(chunk)\r\n", count: 4) + "0\r\n\r\n"
        }
        let pieces = Pieces()
        let error = #expect(throws: RingwakeError.self) {
            try Download(userAgent: "test", maximumBytes: 5000).fetch(server.url()) { pieces.bytes += $0 }
        }
        #expect(error?.code == .limitReached && pieces.bytes.count <= 5000)
    }

    @Test("a file that breaks off is a failure, though some of it came")
    func brokenOff() {
        let server = FakeWebServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n+491\n" }
        #expect(failure(server.url())?.code == .unreachable)
    }

    @Test(
        "a refusal has its code, and its page is no list",
        arguments: [("404 Not Found", "not-found"), ("403 Forbidden", "not-permitted"), ("500 Oops", "unreachable")])
    func refusals(status: String, code: String) {
        let server = FakeWebServer { _ in
            "HTTP/1.1 \(status)\r\nContent-Length: 5\r\nConnection: close\r\n\r\n+491\n"
        }
        let pieces = Pieces()
        let error = #expect(throws: RingwakeError.self) {
            try Download(userAgent: "test").fetch(server.url()) { pieces.bytes += $0 }
        }
        #expect(error?.code.slug == code && pieces.bytes.isEmpty)
    }

    @Test("a URL with a password is refused, for it would be kept; other texts are no URLs")
    func urls() {
        #expect(failure("https://user:secret@lists.example/x")?.code == .invalidRequest)
        #expect(Download.isURL("HTTPS://lists.example/x") && Download.isURL("http://a"))
        for text in ["/etc/x", "spam.csv", "ftp://a/b", "file:///x", "http:/a", "-", ""] {
            #expect(!Download.isURL(text), "\(text)")
        }
    }

    @Test("what the reader of the pieces throws ends the transfer, and is what is thrown")
    func readerFails() throws {
        let server = FakeWebServer { _ in FakeWebServer.ok(String(repeating: "x", count: 100_000)) }
        let error = #expect(throws: RingwakeError.self) {
            try Download(userAgent: "test").fetch(server.url()) { _ throws(RingwakeError) in
                throw RingwakeError(.limitReached, "enough")
            }
        }
        #expect(error?.message == "enough")
    }
}

@Suite("ringwake block import of a URL")
struct BlockImportURLTests {
    /// A daemon with one list that came from `source`.
    private func daemon(source: String, etag: String = "\\\"5f-1\\\"") -> FakeDaemon {
        let list =
            #"{"schema":1,"list":"spam","kind":"block","entries":1,"source":"\#(source)","etag":"\#(etag)"}"#
        return FakeDaemon { line in
            if line.hasPrefix("GET /v1/lists ") { return .json(#"{"schema":1,"lists":[\#(list)]}"#) }
            let isList = line.contains("/finish ")
            return .json(isList ? list : #"{"schema":1,"id":"17","list":"spam","entries":0}"#)
        }
    }

    @Test("an import keeps the ETag and the URL with the list")
    func imports() {
        let server = FakeWebServer { _ in FakeWebServer.ok("number,name\n+491,x\n", fields: "ETag: \"5f-2\"\r\n") }
        let daemon = daemon(source: server.url())
        let ran = ringwake(["block", "import", server.url(), "--list", "spam"], at: daemon)
        #expect(ran.status == 0 && ran.output == "spam: 1 entry from \(server.url()) (csv)\n", "\(ran.errors)")
        #expect(!server.requests[0].contains("If-None-Match"))
        #expect(daemon.requests.last?.hasSuffix(#"{"etag":"\"5f-2\"","source":"\#(server.url())"}"# + "\n") == true)
    }

    @Test("a refresh asks only whether there is something new, and leaves the list alone when there is not")
    func refreshUnchanged() {
        let server = FakeWebServer { _ in FakeWebServer.status("304 Not Modified") }
        let daemon = daemon(source: server.url())
        for arguments in [
            ["--refresh"], ["--refresh", "--list", "spam"], [server.url(), "--refresh", "--list", "spam"],
        ] {
            let ran = ringwake(["block", "import"] + arguments, at: daemon)
            #expect(ran.status == 0 && ran.output == "spam: unchanged\n")
        }
        #expect(server.requests.allSatisfy { $0.contains("\r\nIf-None-Match: \"5f-1\"\r\n") })
        #expect(daemon.requestLines.allSatisfy { $0.hasPrefix("GET /v1/lists ") })
        #expect(ringwake(["block", "import", "--refresh", "--list", "other"], at: daemon).status == 5)
    }

    @Test("of another source, what is kept with the list says nothing")
    func otherSource() {
        let server = FakeWebServer { _ in FakeWebServer.ok("+491\n") }
        let daemon = daemon(source: "https://lists.example/x")
        #expect(ringwake(["block", "import", server.url(), "--refresh", "--list", "spam"], at: daemon).status == 0)
        #expect(!server.requests[0].contains("If-None-Match"))
    }

    @Test("a refresh that fails leaves the list as it was, says why, and has the status of the failure")
    func refreshFails() {
        let server = FakeWebServer { _ in
            "HTTP/1.1 200 OK\r\nContent-Length: 999999\r\nConnection: close\r\n\r\n"
                + String(repeating: "+491234567\n", count: 20_000)
        }
        let daemon = daemon(source: server.url())
        let ran = ringwake(["block", "import", "--refresh"], at: daemon)
        #expect(ran.status == 8 && ran.output == "spam: failed, the list is unchanged\n")
        #expect(ran.errors.contains("the connection broke"))
        #expect(daemon.requestLines == ["GET /v1/lists HTTP/1.1"])
        let json = ringwake(["block", "import", "--refresh", "--json"], at: daemon)
        #expect(json.status == 8 && json.output.contains(#""outcome" : "failed""#))
        #expect(json.errors.hasPrefix(#"{"error":"unreachable""#))
    }

    @Test("the page of a web server that is no list leaves the list as it was")
    func page() {
        let server = FakeWebServer { _ in
            FakeWebServer.ok("<!DOCTYPE html>\n<html>\n<h1>Sign in *</h1>\n<p>to go on *</p>\n</html>\n")
        }
        let daemon = daemon(source: server.url())
        let ran = ringwake(["block", "import", "--refresh"], at: daemon)
        #expect(ran.status == 2 && !daemon.requestLines.contains { $0.contains("finish") }, "\(ran)")
    }
}
