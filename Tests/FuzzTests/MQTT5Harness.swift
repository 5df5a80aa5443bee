import MQTT5

/// MQTT 5.0: what a device's server reads from clients, and clients from it.
enum MQTT5Harness {
    static let packets = Harness("mqtt5") { input in
        let whole = Decoded([input[...]])
        for pieces in Cuts.of(input) { try requireEqual(Decoded(pieces), whole, "other pieces, other packets") }
        if let error = whole.error { try require(reasons.contains(error.reason), "an unexpected reason: \(error)") }
        try require(whole.bufferedByteCount <= maximumPacketBytes, "more is kept than one packet")
        for packet in whole.packets { try check(packet) }
        return !whole.packets.isEmpty
    }

    /// Small, so that short inputs reach it.
    private static let maximumPacketBytes = 512

    private static let reasons: Set<MQTTReason> = [
        .malformedPacket, .protocolError, .unsupportedProtocolVersion, .topicAliasInvalid, .packetTooLarge,
    ]

    private struct Decoded: Equatable {
        var packets: [MQTTPacket] = []
        var error: MQTTError?
        var bufferedByteCount = 0

        init(_ pieces: [ArraySlice<UInt8>], maximumPacketBytes: Int = maximumPacketBytes) {
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
    }

    /// What is written is read as the same packet, and is written in the same way again.
    private static func check(_ packet: MQTTPacket) throws {
        let written = packet.encoded()
        if case .unsupported = packet { return }
        // The limit holds for it too: nothing is written longer than it was read, not even a will's placeholder.
        let again = Decoded([written[...]])
        try requireEqual(again.error, nil, "a written packet is refused")
        try requireEqual(again.packets, [packet], "a packet was changed by writing")
        try requireEqual(again.packets.map { $0.encoded() }, [written], "a packet is written in two ways")
    }
}
