import MQTT5
import Testing

/// Changed packets: nothing traps, and what is still accepted is written so that it is read again.
@Suite struct MQTTMutationTests {
    /// A linear congruential generator: the same changes each time.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private func check(_ bytes: [UInt8]) -> Int {
        let run = DecoderRun(bytes, maximumPacketBytes: 1024)
        let middle = bytes.count / 2
        let split = DecoderRun([bytes[..<middle], bytes[middle...]], maximumPacketBytes: 1024)
        #expect(run == split, "\(bytes)")
        for packet in run.packets {
            let encoded = packet.encoded()
            if case .unsupported = packet { continue }
            let again = DecoderRun(encoded).packet
            #expect(again == packet, "\(bytes)")
            #expect(again?.encoded() == encoded, "\(bytes)")
        }
        return run.packets.count
    }

    @Test("Every byte of every packet set to every value")
    func singleBytes() {
        var accepted = 0
        for packet in Samples.all {
            var bytes = packet.encoded()
            // The long payload has no meaning.
            for index in bytes.indices.prefix(160) {
                let original = bytes[index]
                for value in stride(from: 0 as UInt8, through: 255, by: index < 8 ? 1 : 15) {
                    bytes[index] = value
                    accepted += check(bytes)
                }
                bytes[index] = original
            }
        }
        #expect(accepted > 1000)
    }

    @Test("Several changes at once, also of the length")
    func randomChanges() {
        var generator = Generator(state: 5)
        var accepted = 0
        let sources = Samples.all.map { $0.encoded() }
        for round in 0..<20_000 {
            var bytes = sources[round % sources.count]
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                guard let index = bytes.indices.randomElement(using: &generator) else { break }
                switch Int.random(in: 0...3, using: &generator) {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &generator)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
                default: bytes[index] = [0, 1, 0x26, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
                }
            }
            // Mostly with the right length, so that the fields are reached.
            if round % 4 > 0, bytes.count >= 2, bytes.count < 130 { bytes[1] = UInt8(bytes.count - 2) }
            accepted += check(bytes)
        }
        #expect(accepted > 1000)
    }

    @Test("Random bytes after each first byte that is allowed")
    func noise() {
        var generator = Generator(state: 6)
        for round in 0..<20_000 {
            let count = Int.random(in: 0...40, using: &generator)
            let body = (0..<count).map { _ in UInt8.random(in: 0...0x2B, using: &generator) }
            let first = Samples.all[round % Samples.all.count].encoded()[0]
            _ = check([first, UInt8(count)] + body)
        }
    }
}
