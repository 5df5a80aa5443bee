import MQTT5
import Testing

@Suite struct MQTTRoundTripTests {
    @Test("A decoder reads what was written", arguments: Samples.all)
    func roundTrip(packet: MQTTPacket) {
        let bytes = packet.encoded()
        #expect(DecoderRun(bytes).packet == packet)
    }

    @Test("Fields of the maximum length")
    func longFields() {
        let text = String(repeating: "x", count: MQTTPacket.maximumFieldBytes)
        var connect = MQTTConnect(clientID: text)
        connect.userName = text
        connect.password = Array(repeating: 0, count: MQTTPacket.maximumFieldBytes)
        connect.userProperties = [MQTTUserProperty(text, text)]
        #expect(DecoderRun(MQTTPacket.connect(connect).encoded()).packet == .connect(connect))
    }
}
