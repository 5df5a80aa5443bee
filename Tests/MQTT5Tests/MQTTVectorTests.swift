import MQTT5
import Testing

/// Bytes written by hand from the layouts of section 3, in both directions.
@Suite struct MQTTVectorTests {
    private func expect(
        _ bytes: String, _ packet: MQTTPacket, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(DecoderRun(wire(bytes)).packet == packet, sourceLocation: sourceLocation)
        #expect(packet.encoded() == wire(bytes), sourceLocation: sourceLocation)
    }

    @Test("CONNECT")
    func connect() {
        var packet = MQTTConnect(clientID: "ab")
        packet.keepAlive = 10
        expect("10 0F 0004 4D515454 05 02 000A 00 0002 6162", .connect(packet))
        packet.cleanStart = false
        packet.sessionExpiryInterval = 10
        packet.userName = "u"
        packet.password = [0xFF]
        expect("10 1A 0004 4D515454 05 C0 000A 05 11 0000000A 0002 6162 0001 75 0001 FF", .connect(packet))
    }

    @Test("A will is read over, whatever it contains, and written as a placeholder")
    func will() {
        var packet = MQTTConnect(clientID: "a")
        packet.hasWill = true
        packet.password = [1]
        let properties = "18 00000005  01 01  02 00000006  03 'text'  08 'r/1'  09 'data'  26 'a' 'b'  26 'a' 'b'"
        let bytes = MQTT5Tests.packet(
            0x10, "'MQTT' 05 6E 0000 00 'a' 2E \(properties) 'state/a' 'gone' '\u{1}'")
        #expect(DecoderRun(bytes).packet == .connect(packet))
        expect("10 17 0004 4D515454 05 46 0000 00 0001 61 00 0001 2F 0000 0001 01", .connect(packet))
    }

    @Test("CONNACK")
    func connack() {
        expect("20 03 00 00 00", .connack(MQTTConnack(.success)))
        expect("20 03 00 87 00", .connack(MQTTConnack(.notAuthorized)))
        var packet = MQTTConnack(.success)
        packet.sessionPresent = true
        packet.receiveMaximum = 20
        packet.maximumQoS = 1
        packet.retainAvailable = false
        expect("20 0A 01 00 07 21 0014 24 01 25 00", .connack(packet))
    }

    @Test("PUBLISH")
    func publish() {
        expect("32 08 0003 612F62 000A 00", .publish(MQTTPublish(topic: "a/b", packetID: 10, payload: [])))
        var packet = MQTTPublish(topic: "a/b", packetID: nil, payload: [0x68, 0x69])
        packet.qos = 0
        packet.isRetained = true
        packet.messageExpiryInterval = 30
        expect("31 0D 0003 612F62 05 02 0000001E 6869", .publish(packet))
        packet = MQTTPublish(topic: "", packetID: 1, payload: [0])
        packet.qos = 2
        packet.isDuplicate = true
        packet.topicAlias = 258
        packet.subscriptionIdentifiers = [128, 1]
        expect("3C 0E 0000 0001 08 23 0102 0B 8001 0B 01 00", .publish(packet))
    }

    @Test("PUBACK in each of its lengths")
    func puback() {
        expect("40 02 1234", .puback(MQTTPuback(packetID: 0x1234)))
        expect("40 03 1234 10", .puback(MQTTPuback(packetID: 0x1234, reason: MQTTReason(rawValue: 0x10))))
        let packet = MQTTPuback(packetID: 1, reason: .quotaExceeded, reasonString: "no")
        expect("40 09 0001 97 05 1F 0002 6E6F", .puback(packet))
        // Longer than needed, and allowed.
        #expect(DecoderRun(wire("40 03 1234 00")).packet == .puback(MQTTPuback(packetID: 0x1234)))
        #expect(DecoderRun(wire("40 04 1234 00 00")).packet == .puback(MQTTPuback(packetID: 0x1234)))
    }

    @Test("SUBSCRIBE, SUBACK, UNSUBSCRIBE and UNSUBACK")
    func subscriptions() {
        var second = MQTTSubscribe.Filter("c", maximumQoS: 2)
        second.noLocal = true
        second.retainAsPublished = true
        second.retainHandling = 2
        var packet = MQTTSubscribe(packetID: 10, filters: [MQTTSubscribe.Filter("a/+"), second])
        packet.subscriptionIdentifier = 300
        expect("82 10 000A 03 0B AC02 0003 612F2B 01 0001 63 2E", .subscribe(packet))
        expect("90 05 000A 00 01 8F", .suback(MQTTSuback(packetID: 10, reasons: [.grantedQoS1, .topicFilterInvalid])))
        expect("A2 09 000B 00 0001 23 0001 2F", .unsubscribe(MQTTUnsubscribe(packetID: 11, filters: ["#", "/"])))
        expect(
            "B0 05 000B 00 00 11", .unsuback(MQTTUnsuback(packetID: 11, reasons: [.success, .noSubscriptionExisted])))
    }

    @Test("PINGREQ, PINGRESP, and DISCONNECT in each of its lengths")
    func others() {
        expect("C0 00", .pingreq)
        expect("D0 00", .pingresp)
        expect("E0 00", .disconnect(MQTTDisconnect()))
        expect("E0 01 8E", .disconnect(MQTTDisconnect(.sessionTakenOver)))
        var packet = MQTTDisconnect()
        packet.sessionExpiryInterval = 0
        expect("E0 07 00 05 11 00000000", .disconnect(packet))
        #expect(DecoderRun(wire("E0 01 00")).packet == .disconnect(MQTTDisconnect()))
        #expect(DecoderRun(wire("E0 02 8E 00")).packet == .disconnect(MQTTDisconnect(.sessionTakenOver)))
    }

    @Test("PUBREC, PUBREL, PUBCOMP and AUTH are skipped, and nothing is written for them")
    func unsupported() {
        let bytes = wire("50 02 0001 62 03 0001 92 70 00 F0 05 18 03 1F 0000 C0 00")
        let run = DecoderRun(bytes)
        #expect(run.packets == [5, 6, 7, 15].map { MQTTPacket.unsupported(type: $0) } + [.pingreq])
        #expect(run.error == nil)
        #expect(MQTTPacket.unsupported(type: 5).encoded() == [])
    }

    @Test(
        "Remaining Lengths at the limits of their bytes (table 1-1)",
        arguments: [
            (127, "7F"), (128, "8001"), (16_383, "FF7F"), (16_384, "808001"), (2_097_151, "FFFF7F"),
            (2_097_152, "80808001"),
        ]
    )
    func lengths(length: Int, bytes: String) {
        let payload = Array(repeating: 7 as UInt8, count: length - 6)
        let packet = MQTTPacket.publish(MQTTPublish(topic: "a", packetID: 1, payload: payload))
        let encoded = packet.encoded()
        #expect(encoded == wire("32 \(bytes) 0001 61 0001 00") + payload)
        #expect(DecoderRun(encoded, maximumPacketBytes: encoded.count).packet == packet)
        #expect(DecoderRun(encoded, maximumPacketBytes: encoded.count - 1).error?.reason == .packetTooLarge)
    }

    @Test("Strings are compared and kept byte by byte: a byte order mark stays, and nothing is normalised")
    func strings() {
        for text in ["\u{FEFF}", "e\u{301}", "\u{E9}", "\u{10FFFF}", "\u{1}", "a\u{7F}"] {
            let packet = MQTTPacket.publish(MQTTPublish(topic: text, packetID: 1, payload: []))
            guard case .publish(let read) = DecoderRun(packet.encoded()).packet else {
                Issue.record("\(text.unicodeScalars.map(\.value)) is refused")
                continue
            }
            #expect(Array(read.topic.utf8) == Array(text.utf8))
        }
    }
}
