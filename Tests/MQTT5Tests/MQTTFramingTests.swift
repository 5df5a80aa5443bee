import MQTT5
import Testing

/// How bytes become packets: pieces, limits and memory.
@Suite struct MQTTFramingTests {
    private static let stream = Samples.all.flatMap { $0.encoded() }

    @Test("Every split point, and single bytes, give the same packets")
    func splits() {
        let stream = MQTTFramingTests.stream
        #expect(DecoderRun(stream).packets == Samples.all)
        for split in 0...stream.count {
            let run = DecoderRun([stream[..<split], stream[split...]])
            #expect(run.packets == Samples.all && run.error == nil && run.bufferedByteCount == 0)
        }
        #expect(DecoderRun(stream.indices.map { stream[$0...$0] }).packets == Samples.all)
    }

    @Test("No beginning of a packet is a packet or an error")
    func beginnings() {
        for packet in Samples.all {
            let bytes = packet.encoded()
            for count in 0..<bytes.count {
                let run = DecoderRun(Array(bytes[..<count]))
                #expect(run.packets == [] && run.error == nil && run.bufferedByteCount == count)
            }
        }
    }

    @Test("An error stays, nothing is kept after it, and what came before it is delivered")
    func failure() throws {
        var decoder = MQTTDecoder(maximumPacketBytes: 100)
        decoder.consume(wire("C0 00 00 00 C0 00"))
        #expect(try decoder.next() == .pingreq)
        let first = #expect(throws: MQTTError.self) { try decoder.next() }
        #expect(first?.reason == .malformedPacket)
        decoder.consume(wire("C0 00"))
        #expect(decoder.bufferedByteCount == 0)
        let second = #expect(throws: MQTTError.self) { try decoder.next() }
        #expect(second == first)
    }

    @Test("A packet that is too large is refused when its length is known")
    func tooLarge() {
        #expect(DecoderRun(wire("30 63"), maximumPacketBytes: 100).error?.reason == .packetTooLarge)
        #expect(DecoderRun(wire("30 62"), maximumPacketBytes: 100).error == nil)
        // The length may go on.
        #expect(DecoderRun(wire("30 FF FF FF"), maximumPacketBytes: 100).error == nil)
        #expect(DecoderRun(wire("30 FF FF FF 7F"), maximumPacketBytes: 100).error?.reason == .packetTooLarge)
        #expect(DecoderRun(wire("C0 00"), maximumPacketBytes: 0).error?.reason == .packetTooLarge)
    }

    @Test("The limit may grow while bytes wait")
    func growingLimit() throws {
        let large = MQTTPacket.publish(MQTTPublish(topic: "a", packetID: 1, payload: Array(repeating: 1, count: 500)))
        var decoder = MQTTDecoder(maximumPacketBytes: 100)
        decoder.consume(MQTTPacket.pingreq.encoded() + large.encoded())
        #expect(try decoder.next() == .pingreq)
        decoder.maximumPacketBytes = 1000
        #expect(try decoder.next() == large)
        #expect(try decoder.next() == nil)
        #expect(decoder.bufferedByteCount == 0)
    }

    @Test("Many small packets in one buffer take time in proportion")
    func manyPackets() throws {
        // Two million bytes: moving the rest for each packet would be 10^12 moves.
        var decoder = MQTTDecoder(maximumPacketBytes: 100)
        decoder.consume(Array(repeating: [0xC0, 0x00], count: 1_000_000).flatMap { $0 })
        var count = 0
        while try decoder.next() != nil {
            count += 1
            // Bytes that come between are added without moving what waits each time.
            if count % 1000 == 0 { decoder.consume([0xC0, 0x00]) }
        }
        #expect(count == 1_001_001)
        #expect(decoder.bufferedByteCount == 0)
    }

    @Test("The fixed header's flags are checked with the first byte", arguments: 0..<256)
    func flags(first: Int) {
        let type = first >> 4
        let flags = first & 0x0F
        let allowed = type == 3 || (type > 0 && flags == ([6, 8, 10].contains(type) ? 2 : 0))
        let error = DecoderRun([UInt8(first)]).error
        #expect(error?.reason == (allowed ? nil : .malformedPacket))
    }
}
