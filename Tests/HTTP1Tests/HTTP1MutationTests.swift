import HTTP1
import Testing

/// Damages valid messages at random, from fixed seeds: nothing may trap, and how the bytes are split must not matter.
@Suite struct HTTP1MutationTests {
    private static let requests = [
        "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
        "POST /v1/apps HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n{\"id\":\"a.b\"}\n",
        "GET http://h/x HTTP/1.0\r\nConnection: keep-alive, x\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]
    private static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\nA\r\n"
            + "0123456789\r\n0\r\nT: 1\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nX: y\r\n\r\nuntil the end",
    ]
    private static let interesting = Array("\r\n\0 \t:,;0123456789aAfFxX/*HTTP.\u{7f}\u{80}".utf8)

    @Test("A request split at every byte gives what it gives in one piece")
    func requestSplits() {
        for text in HTTP1MutationTests.requests + ["GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "A\nB", "GET /\r\r\n"] {
            let bytes = Array(text.utf8)
            let whole = RequestRun([bytes[...]])
            #expect(RequestRun(bytes.indices.map { bytes[$0...$0] }) == whole)
            for split in bytes.indices {
                #expect(RequestRun([bytes[..<split], bytes[split...]]) == whole)
            }
        }
    }

    @Test("A response split at every byte gives what it gives in one piece")
    func responseSplits() {
        for text in HTTP1MutationTests.responses {
            let bytes = Array(text.utf8)
            let whole = ResponseRun([bytes[...]])
            #expect(whole.hasEnded)
            #expect(ResponseRun(bytes.indices.map { bytes[$0...$0] }) == whole)
            for split in bytes.indices {
                #expect(ResponseRun([bytes[..<split], bytes[split...]]) == whole)
            }
        }
    }

    @Test("Damaged requests never trap, and give the same in pieces", arguments: 0..<8)
    func damagedRequests(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let bytes = damaged(HTTP1MutationTests.requests, &generator)
            #expect(RequestRun(pieces(bytes, &generator)) == RequestRun([bytes[...]]))
        }
    }

    @Test("Damaged responses never trap, and give the same in pieces", arguments: 0..<8)
    func damagedResponses(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let bytes = damaged(HTTP1MutationTests.responses, &generator)
            #expect(ResponseRun(pieces(bytes, &generator)) == ResponseRun([bytes[...]]))
        }
    }

    private func damaged(_ seeds: [String], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = Array((seeds.randomElement(using: &generator) ?? "").utf8)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let place = Int.random(in: 0...max(0, bytes.count - 1), using: &generator)
            let byte = HTTP1MutationTests.interesting.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0 where !bytes.isEmpty: bytes[place] = byte
            case 1 where !bytes.isEmpty: bytes.remove(at: place)
            case 2: bytes.insert(byte, at: min(place, bytes.count))
            default: bytes.insert(contentsOf: bytes[place...].prefix(9), at: min(place, bytes.count))
            }
        }
        return bytes
    }

    private func pieces(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let length = Int.random(in: 1...7, using: &generator)
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return pieces
    }
}
