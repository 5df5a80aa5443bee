import HTTPServer
import Testing

/// Each way to break RFC 9113 or RFC 7541 that a client has, with what the RFC demands of the server. libnghttp2 knows
/// most of it. The rows hold it to that, and us to what it leaves to us.
@MainActor @Suite(.serialized) struct HTTP2ConformanceTests {
    @Test("A client's frames have the effect that the RFC demands")
    func frames() throws {
        for row in ConformanceRow.frames { try check(row) }
    }

    @Test("A request's fields have the effect that the RFC demands")
    func fields() throws {
        for row in ConformanceRow.fields { try check(row) }
    }

    private func check(_ row: ConformanceRow) throws {
        let loop = try TestLoop()
        let server = try H2TestServer(loop)
        defer { server.stop() }
        server.onRequest = { request, exchange in
            if request.path != ConformanceRow.heldPath { exchange.respond(.accepted) }
        }
        let client = TLSClient.http2(server)
        defer { client.close() }
        client.send(row.frames.flatMap(\.bytes))
        // A last request tells the end of what the row caused.
        let last: UInt32 = 1_001
        client.send(ConformanceRow.head(stream: last))
        #expect(loop.drive { client.isClosed || client.frames(on: last).contains { $0.isEndOfStream } })
        let reaction: ConformanceRow.Reaction =
            if let goAway = client.goAway {
                .connectionError(goAway.code)
            } else if let code = client.resetCode(of: 1) {
                .streamError(code)
            } else if client.frames(on: 1).contains(where: \.isEndOfStream) {
                .served
            } else {
                .ignored
            }
        #expect(reaction == row.reaction, "\(row.section): \(row.what)")
        #expect(!client.hasFailed)
        // A malformed request reaches nobody.
        if case .streamError = reaction, row.section.hasPrefix("8.") {
            #expect(server.requests.map(\.path) == ["/"])
        }
    }
}
