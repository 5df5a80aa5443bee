import HTTP1
import Testing

@Suite struct HTTP1WriterTests {
    @Test("A request that was written is parsed as it was meant")
    func requestRoundTrip() {
        let bytes = HTTP1Writer.request(
            method: "POST", target: "/v1/apps?q=a b\r\nX: y",
            fields: [HTTP1Field(name: "x-a", value: "1\r\nx-b: 2"), HTTP1Field(name: "bad name", value: "x")],
            body: Array("{}".utf8))
        let run = RequestRun([bytes[...]])
        #expect(run.error == nil)
        #expect(run.requests.first?.target == "/v1/apps?q=a%20b%0D%0AX:%20y")
        #expect(run.requests.first?.fields.map(\.name) == ["host", "x-a", "content-length"])
        #expect(run.requests.first?.values(of: "x-a") == ["1  x-b: 2"])
        #expect(run.requests.first?.body == Array("{}".utf8))
    }

    @Test("An answer has its length, and connection: close when it is the last")
    func response() {
        let kept = HTTP1Writer.response(status: 200, body: Array("hi".utf8), keepAlive: true)
        #expect(String(decoding: kept, as: UTF8.self) == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
        let last = HTTP1Writer.response(status: 204, keepAlive: false)
        #expect(String(decoding: last, as: UTF8.self) == "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        let head = HTTP1Writer.response(status: 200, body: Array("hi".utf8), keepAlive: true, isHeadOnly: true)
        #expect(String(decoding: head, as: UTF8.self) == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
    }

    @Test("A stream of chunks is parsed back to its pieces")
    func chunkedRoundTrip() {
        var bytes = HTTP1Writer.streamHead(status: 200, isChunked: true, keepAlive: true)
        bytes += HTTP1Writer.chunk(Array("hello ".utf8))
        bytes += HTTP1Writer.chunk([])
        bytes += HTTP1Writer.chunk([UInt8](repeating: 7, count: 300))
        bytes += HTTP1Writer.lastChunk
        let run = ResponseRun([bytes[...]], isClosed: false)
        #expect(run.body == Array("hello ".utf8) + [UInt8](repeating: 7, count: 300))
        #expect(run.hasEnded)
    }
}
