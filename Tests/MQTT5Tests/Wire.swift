import MQTT5

/// Bytes of a text of hexadecimal digits; spaces are ignored. `'abc'` gives `abc` after its length in two bytes.
func wire(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, part) in text.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
        if index % 2 == 1 {
            bytes += [UInt8(part.utf8.count >> 8), UInt8(part.utf8.count & 0xFF)] + part.utf8
        } else {
            let digits = Array(part.filter { $0 != " " })
            for index in stride(from: 0, to: digits.count - 1, by: 2) {
                bytes.append(UInt8(String(digits[index...(index + 1)]), radix: 16) ?? 0)
            }
        }
    }
    return bytes
}

/// A packet of at most 129 bytes: a first byte and what follows the Remaining Length, as for ``wire(_:)``.
func packet(_ firstByte: UInt8, _ body: String) -> [UInt8] {
    let body = wire(body)
    return [firstByte, UInt8(body.count)] + body
}

/// What a decoder made of bytes that came in pieces.
struct DecoderRun: Equatable {
    var packets: [MQTTPacket] = []
    var error: MQTTError?
    var bufferedByteCount = 0

    init(_ bytes: [UInt8], maximumPacketBytes: Int = 1 << 20) {
        self.init([bytes[...]], maximumPacketBytes: maximumPacketBytes)
    }

    init(_ pieces: [ArraySlice<UInt8>], maximumPacketBytes: Int = 1 << 20) {
        var decoder = MQTTDecoder(maximumPacketBytes: maximumPacketBytes)
        do throws(MQTTError) {
            for piece in pieces {
                decoder.consume(piece)
                while let packet = try decoder.next() { packets.append(packet) }
            }
        } catch {
            self.error = error
        }
        bufferedByteCount = decoder.bufferedByteCount
    }

    /// The only packet.
    var packet: MQTTPacket? { packets.count == 1 && error == nil && bufferedByteCount == 0 ? packets[0] : nil }
}
