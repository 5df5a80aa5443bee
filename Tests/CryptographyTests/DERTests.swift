import Testing

@testable import Cryptography

@Suite struct DERTests {
    private static let topics = AppleExtensions.CertifiedTopic(topic: "com.example.phone.voip", purposes: ["voip"])

    private static func encode(_ topics: [AppleExtensions.CertifiedTopic]) -> [UInt8] {
        DERWriter.sequence(
            of: topics.flatMap {
                [DERWriter.utf8String($0.topic), DERWriter.sequence(of: $0.purposes.map(DERWriter.utf8String))]
            })
    }

    @Test("Topics of each number come back", arguments: [0, 1, 2, 7, 100, 1000])
    func topics(count: Int) {
        let topics = (0..<count).map {
            AppleExtensions.CertifiedTopic(
                topic: "com.example.\($0)", purposes: Array(repeating: "voip", count: $0 % 3))
        }
        #expect(AppleExtensions.topics(der: Self.encode(topics)) == topics)
    }

    @Test("Topics beyond the limits are malformed")
    func limits() {
        let many = Array(repeating: Self.topics, count: 1001)
        #expect(AppleExtensions.topics(der: Self.encode(many)) == nil)
        let long = AppleExtensions.CertifiedTopic(topic: String(repeating: "a", count: 256), purposes: [])
        #expect(AppleExtensions.topics(der: Self.encode([long])) == nil)
    }

    @Test(
        "Malformed bytes are refused",
        arguments: [
            [], [0x30], [0x30, 0x80], [0x30, 0x80, 0, 0], [0x30, 0x01], [0x30, 0x00, 0x00], [0x31, 0x00],
            // A length in more bytes than it needs, and one that exceeds everything.
            [0x30, 0x81, 0x00], [0x30, 0x81, 0x02, 0x0C, 0x00], [0x30, 0x82, 0x00, 0x02, 0x0C, 0x00],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x81, 0x08, 0x0C, 0x01, 0x61, 0x30, 0x03, 0x0C, 0x01, 0x62],
            [0x30, 0xFF], [0x3F, 0x00],
            [0x05, 0x00],
            // A topic without purposes, an empty topic, one that is not UTF-8, a purpose of another type.
            [0x30, 0x03, 0x0C, 0x01, 0x61], [0x30, 0x04, 0x0C, 0x00, 0x30, 0x00],
            [0x30, 0x05, 0x0C, 0x01, 0xFF, 0x30, 0x00], [0x30, 0x07, 0x0C, 0x01, 0x61, 0x30, 0x02, 0x05, 0x00],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(AppleExtensions.topics(der: bytes) == nil)
    }

    @Test("Changed and random bytes never trap")
    func mutations() {
        let good = Self.encode([.init(topic: "com.example.phone", purposes: ["app", "voip"]), Self.topics])
        #expect(AppleExtensions.topics(der: good)?.count == 2)
        var random = SeededGenerator(seed: 5)
        for _ in 0..<20_000 {
            _ = AppleExtensions.topics(der: random.mutate(good, upTo: 4))
            _ = AppleExtensions.topics(der: [0x30] + random.bytes(upTo: 40))
        }
        for count in good.indices {
            #expect(AppleExtensions.topics(der: Array(good.prefix(count))) == nil)
        }
    }

    @Test("Lengths are written in their shortest form", arguments: [0, 127, 128, 255, 256, 65_535, 65_536])
    func lengths(count: Int) {
        let content = [UInt8](repeating: 1, count: count)
        let bytes = DERWriter.octetString(content)
        var reader = DERReader(bytes[...])
        #expect(reader.next(DERReader.Tag.octetString).map(Array.init) == content)
        #expect(reader.isAtEnd)
    }
}
