import HTTP1
import Testing

@Suite struct HTTP1RequestParserTests {
    @Test("A request of curl is parsed with lower-case names and trimmed values")
    func curlRequest() {
        let run = RequestRun(
            "POST /v1/calls/a%20b/answer?x=1 HTTP/1.1\r\nHost: localhost\r\nUser-Agent:curl/7.88.1 \t\r\n"
                + "Accept: */*\r\nContent-Length: 4\r\n\r\nbody")
        #expect(run.error == nil)
        #expect(run.requests.count == 1)
        let request = run.requests.first
        #expect(request?.method == "POST")
        #expect(request?.target == "/v1/calls/a%20b/answer?x=1")
        #expect(request?.values(of: "user-agent") == ["curl/7.88.1"])
        #expect(request?.body == Array("body".utf8))
        #expect(request?.keepAlive == true)
    }

    @Test("Pipelined requests come out one by one, and the rest waits")
    func pipelining() throws {
        var parser = HTTP1RequestParser()
        parser.consume(Array("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Le".utf8))
        #expect(try parser.next()?.target == "/1")
        #expect(try parser.next() == nil)
        #expect(parser.isWithinRequest)
        parser.consume(Array("ngth: 2\r\n\r\nokGET /3 HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(try parser.next()?.body == Array("ok".utf8))
        #expect(try parser.next()?.target == "/3")
        #expect(try parser.next() == nil)
        #expect(!parser.isWithinRequest)
        #expect(parser.bufferedByteCount == 0)
    }

    @Test(
        "What may be read in two ways is refused with 400",
        arguments: [
            "GET / HTTP/1.1\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\tfolded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n: empty name\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX\u{e4}: b\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
            "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
            " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / http/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1x\r\nHost: a\r\n\r\n",
            "GET /\r\nHost: a\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\u{16}\u{3}\u{1}\u{2}\0\u{1}\n",
        ])
    func ambiguousRequest(text: String) {
        let run = RequestRun(text)
        #expect(run.requests.isEmpty)
        #expect(run.error?.status == 400)
    }

    @Test(
        "What is understood but not served has its own status",
        arguments: [
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 501),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 1\r\n\r\n", 417),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
            ("GET /" + String(repeating: "a", count: 8192) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 17000) + "\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 64) + "\r\n", 431),
        ])
    func unservedRequest(text: String, status: Int) {
        let run = RequestRun(text)
        #expect(run.requests.isEmpty)
        #expect(run.error?.status == status)
        #expect(run.error?.message.isEmpty == false)
    }

    @Test("The limits themselves are still allowed")
    func exactLimits() {
        let body = String(repeating: "b", count: 65536)
        let fields = String(repeating: "X: y\r\n", count: 63)
        let run = RequestRun("POST / HTTP/1.1\r\nHost: a\r\n\r\n", limits: HTTP1Limits(maximumBodyBytes: 0))
        #expect(run.requests.count == 1)
        #expect(RequestRun("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n").requests.count == 1)
        let long = RequestRun("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n\(body)")
        #expect(long.requests.first?.body.count == 65536)
    }

    @Test("An endless line is refused before its end arrives")
    func endlessLine() {
        var parser = HTTP1RequestParser()
        parser.consume([UInt8](repeating: UInt8(ascii: "A"), count: 9000))
        #expect(throws: HTTP1Error.self) { try parser.next() }
        // And stays refused.
        parser.consume(Array("\r\n".utf8))
        #expect(throws: HTTP1Error.self) { try parser.next() }
    }

    @Test("The absolute form is reduced to its path")
    func absoluteForm() {
        #expect(RequestRun("GET http://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n").requests.first?.target == "/p?q")
        #expect(RequestRun("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n").requests.first?.target == "/")
        #expect(RequestRun("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n").requests.first?.target == "/?q")
        #expect(RequestRun("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").requests.first?.target == "*")
    }

    @Test(
        "Whether the connection stays open follows version and Connection",
        arguments: [
            ("HTTP/1.1\r\nHost: a\r\n", true),
            ("HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", false),
            ("HTTP/1.1\r\nHost: a\r\nConnection: x , CLOSE\t\r\n", false),
            ("HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n", true),
            ("HTTP/1.0\r\n", false),
            ("HTTP/1.0\r\nConnection: Keep-Alive\r\n", true),
        ])
    func keepAlive(head: String, expected: Bool) {
        #expect(RequestRun("GET / \(head)\r\n").requests.first?.keepAlive == expected)
    }

    @Test("Expect: 100-continue is asked for once, and only while the body is missing")
    func continueExpectation() throws {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
        var parser = HTTP1RequestParser()
        parser.consume(Array(head.utf8))
        #expect(try parser.next() == nil)
        let expectations = [parser.takeContinueExpectation(), parser.takeContinueExpectation()]
        #expect(expectations == [true, false])
        parser.consume(Array("ok".utf8))
        #expect(try parser.next()?.body == Array("ok".utf8))

        var hasty = HTTP1RequestParser()
        hasty.consume(Array((head + "o").utf8))
        #expect(try hasty.next() == nil)
        let isExpected = hasty.takeContinueExpectation()
        #expect(!isExpected)
    }
}
