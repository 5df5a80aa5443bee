import Testing

@testable import DBus

/// Framing, and the search for the call that a dropped message replies to.
@Suite struct MessageHeaderTests {
    private static let fixed: [UInt8] = [
        UInt8(ascii: "l"), 2, 1, 1, 5, 0, 0, 0, 9, 0, 0, 0, 21, 0, 0, 0,
    ]
    private static let fields: [UInt8] = [
        7, 1, UInt8(ascii: "s"), 0, 4, 0, 0, 0, 58, 49, 46, 50, 0, 0, 0, 0, 5, 1, UInt8(ascii: "u"), 0, 7, 1, 0, 0,
    ]

    @Test("The size counts the header's padding")
    func size() throws {
        let header = try #require(MessageHeader(Self.fixed))
        #expect(header.totalBytes == 16 + 24 + 5)
        var most = Self.fixed
        for index in Array(4..<8) + Array(12..<16) { most[index] = 255 }
        #expect(MessageHeader(most)?.totalBytes == 16 + (1 << 32) + (1 << 32) - 1)
    }

    @Test("What is too short, or of no byte order, is no header")
    func noHeader() {
        #expect(MessageHeader([]) == nil)
        #expect(MessageHeader(Array(Self.fixed.dropLast())) == nil)
        #expect(MessageHeader([0] + Self.fixed.dropFirst()) == nil)
    }

    @Test("The reply's serial number is found behind other fields; not in a signal, and not in a part of them")
    func replySerial() throws {
        let header = try #require(MessageHeader(Self.fixed))
        #expect(header.replySerial(in: Self.fixed + Self.fields) == 263)
        #expect(header.replySerial(in: Self.fixed + Self.fields.dropLast(1)) == nil)
        #expect(header.replySerial(in: Self.fixed) == nil)
        var signal = Self.fixed
        signal[1] = 4
        #expect(MessageHeader(signal)?.replySerial(in: signal + Self.fields) == nil)
    }

    @Test("Any bytes at all are searched without a trap")
    func anyBytes() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = Self.fixed + Self.fields
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                bytes[Int.random(in: 1..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0...24, using: &generator))
            guard let header = MessageHeader(bytes) else { continue }
            _ = header.replySerial(in: bytes)
            #expect(header.searchedBytes >= 16 && header.totalBytes >= 16)
        }
    }
}
