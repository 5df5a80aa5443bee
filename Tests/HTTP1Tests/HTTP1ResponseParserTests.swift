import HTTP1
import Testing

@Suite struct HTTP1ResponseParserTests {
    @Test("A body of declared length ends without the connection being closed")
    func fixedLength() {
        let run = ResponseRun("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", isClosed: false)
        #expect(run.head?.status == 200)
        #expect(run.body == Array("hello".utf8))
        #expect(run.hasEnded)
    }

    @Test("A chunked body is joined, extensions and trailers are ignored")
    func chunked() {
        let run = ResponseRun(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n00A\r\n 123456789\r\n"
                + "0\r\nX-T: 1\r\n\r\n", isClosed: false)
        #expect(run.error == nil)
        #expect(run.body == Array("hello 123456789".utf8))
        #expect(run.hasEnded)
    }

    @Test("Pieces of a stream are delivered before its end")
    func streaming() throws {
        var parser = HTTP1ResponseParser(requestMethod: "GET", limits: HTTP1Limits(maximumBodyBytes: .max))
        parser.consume(Array("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n".utf8))
        guard case .head = try parser.next() else { return #expect(Bool(false), "no head") }
        #expect(try parser.next() == .body(Array("{}\n".utf8)))
        #expect(try parser.next() == nil)
        parser.consume(Array("2\r\n".utf8))
        #expect(try parser.next() == nil)
        parser.consume(Array("[".utf8))
        #expect(try parser.next() == .body(Array("[".utf8)))
    }

    @Test("Without length the body lasts until the connection is closed")
    func untilClose() {
        let run = ResponseRun("HTTP/1.1 200\r\n\r\nabc")
        #expect(run.body == Array("abc".utf8))
        #expect(run.hasEnded)
    }

    @Test("Interim answers are skipped")
    func interim() {
        let run = ResponseRun("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", isClosed: false)
        #expect(run.head?.status == 204)
        #expect(run.hasEnded)
    }

    @Test("An answer to HEAD has no body, whatever its length says")
    func headAnswer() {
        let run = ResponseRun("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", method: "HEAD", isClosed: false)
        #expect(run.hasEnded)
        #expect(run.body.isEmpty)
    }

    @Test(
        "A malformed answer is an error",
        arguments: [
            "HTTP/2 200\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 200 OK\n\n", "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7FFFFFFFFFFFFFFF\r\na",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
            "HTTP/1.1 200 OK\r\nX", "",
        ])
    func malformed(text: String) {
        let run = ResponseRun(text)
        #expect(run.error?.status == 502)
        #expect(!run.hasEnded)
    }

    @Test("A body longer than the limit is an error, however it is delimited")
    func bodyLimit() {
        let limits = HTTP1Limits(maximumBodyBytes: 4)
        #expect(ResponseRun("HTTP/1.1 200 OK\r\n\r\nabcde", limits: limits).error != nil)
        #expect(ResponseRun("HTTP/1.1 200 OK\r\n\r\nabcd", limits: limits).hasEnded)
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        #expect(ResponseRun(chunks, limits: limits).error != nil)
    }

    @Test("Endless interim answers are an error")
    func endlessInterim() {
        let text = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 17)
        #expect(ResponseRun(text, isClosed: false).error != nil)
    }
}
