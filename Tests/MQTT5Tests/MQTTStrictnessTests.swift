import MQTT5
import Testing

/// What has to be refused, and with which reason code.
@Suite struct MQTTStrictnessTests {
    struct Refusal: CustomTestStringConvertible, Sendable {
        var rule: String
        var firstByte: UInt8
        var body: String

        init(_ rule: String, _ firstByte: UInt8, _ body: String) {
            self.rule = rule
            self.firstByte = firstByte
            self.body = body
        }

        var testDescription: String { rule }
    }

    private func expectRefused(_ refusal: Refusal, _ reason: MQTTReason) {
        let bytes = packet(refusal.firstByte, refusal.body)
        let run = DecoderRun(bytes)
        #expect(run.packets == [], "\(refusal.rule)")
        #expect(run.error?.reason == reason, "\(refusal.rule): \(run.error?.text ?? "accepted")")
        #expect(DecoderRun(bytes.indices.map { bytes[$0...$0] }) == run)
    }

    // MARK: - Malformed packets (0x81)

    static let malformed = [
        Refusal("CONNECT without anything", 0x10, ""),
        Refusal("another protocol name", 0x10, "'MQTt' 05 02 0000 00 'a'"),
        Refusal("reserved connect flag", 0x10, "'MQTT' 05 03 0000 00 'a'"),
        Refusal("will QoS 3", 0x10, "'MQTT' 05 1C 0000 00 'a' 00 'w' ''"),
        Refusal("will QoS without a will", 0x10, "'MQTT' 05 08 0000 00 'a'"),
        Refusal("will retain without a will", 0x10, "'MQTT' 05 20 0000 00 'a'"),
        Refusal("flag of a user name, and none", 0x10, "'MQTT' 05 80 0000 00 'a'"),
        Refusal("flag of a password, and none", 0x10, "'MQTT' 05 40 0000 00 'a'"),
        Refusal("user name without its flag", 0x10, "'MQTT' 05 00 0000 00 'a' 'u'"),
        Refusal("property of PUBLISH in CONNECT", 0x10, "'MQTT' 05 00 0000 03 23 0001 'a'"),
        Refusal("property of a will in CONNECT", 0x10, "'MQTT' 05 00 0000 05 18 00000001 'a'"),
        Refusal("property of CONNECT in a will", 0x10, "'MQTT' 05 04 0000 00 'a' 05 11 00000001 'w' ''"),
        Refusal("will without a payload", 0x10, "'MQTT' 05 04 0000 00 'a' 00 'w'"),
        Refusal("properties longer than the packet", 0x10, "'MQTT' 05 00 0000 09 21 0001 'a'"),
        Refusal("property cut by the end of the properties", 0x10, "'MQTT' 05 00 0000 02 21 0001 'a'"),
        Refusal("property length that isn't minimal", 0x10, "'MQTT' 05 00 0000 80 00 'a'"),
        Refusal("property length of 5 bytes", 0x10, "'MQTT' 05 00 0000 80 80 80 80 01 'a'"),
        Refusal("property length that is cut", 0x82, "0001 80"),
        Refusal("unknown property", 0x10, "'MQTT' 05 00 0000 02 04 01 'a'"),
        Refusal("unknown property of two bytes", 0x10, "'MQTT' 05 00 0000 03 80 02 01 'a'"),
        Refusal("property identifier that isn't minimal", 0x10, "'MQTT' 05 00 0000 04 A1 00 0001 'a'"),
        Refusal("reserved acknowledge flags", 0x20, "02 00 00"),
        Refusal("CONNACK without properties", 0x20, "00 00"),
        Refusal("Reason String in a wrong place", 0x30, "'a' 03 1F 0000"),
        Refusal("Will Delay Interval in CONNACK", 0x20, "00 00 05 18 00000000"),
        Refusal("QoS 3", 0x36, "'a' 0001 00"),
        Refusal("duplicate of QoS 0", 0x38, "'a' 00"),
        Refusal("PUBLISH without a packet identifier", 0x32, "'a'"),
        Refusal("PUBLISH without properties", 0x30, "'a'"),
        Refusal("topic longer than the packet", 0x30, "0003 6161"),
        Refusal("U+0000 in a topic", 0x30, "0003 610062 00"),
        Refusal("surrogate", 0x30, "0003 EDA080 00"),
        Refusal("pair of surrogates", 0x30, "0006 EDA080EDB080 00"),
        Refusal("overlong U+0000", 0x30, "0002 C080 00"),
        Refusal("overlong slash", 0x30, "0002 C0AF 00"),
        Refusal("above U+10FFFF", 0x30, "0004 F4908080 00"),
        Refusal("cut character", 0x30, "0002 E282 00"),
        Refusal("character that goes on in the next field", 0x30, "0001 C2 00"),
        Refusal("continuation byte", 0x30, "0001 80 00"),
        Refusal("U+0000 in the name of a user property", 0x30, "'a' 06 26 0001 00 0000"),
        Refusal("value of a user property that isn't UTF-8", 0x30, "'a' 06 26 0000 0001 FF"),
        Refusal("Session Expiry Interval in PUBLISH", 0x30, "'a' 05 11 00000001"),
        Refusal("PUBACK without a packet identifier", 0x40, "01"),
        Refusal("PUBACK with more", 0x40, "0001 00 00 00"),
        Refusal("Server Reference in PUBACK", 0x40, "0001 00 04 1C 0001 61"),
        Refusal("SUBSCRIBE without properties", 0x82, "0001"),
        Refusal("filter without options", 0x82, "0001 00 'a'"),
        Refusal("reserved subscription option 6", 0x82, "0001 00 'a' 40"),
        Refusal("reserved subscription option 7", 0x82, "0001 00 'a' 80"),
        Refusal("Reason String in SUBSCRIBE", 0x82, "0001 03 1F 0000 'a' 00"),
        Refusal("SUBACK without properties", 0x90, "0001"),
        Refusal("Subscription Identifier in UNSUBSCRIBE", 0xA2, "0001 02 0B 01 'a'"),
        Refusal("half a filter", 0xA2, "0001 00 00"),
        Refusal("UNSUBACK without properties", 0xB0, "0001"),
        Refusal("PINGREQ with more", 0xC0, "00"),
        Refusal("PINGRESP with more", 0xD0, "00"),
        Refusal("DISCONNECT with more", 0xE0, "00 00 00"),
        Refusal("Receive Maximum in DISCONNECT", 0xE0, "00 03 21 0001"),
        Refusal("type 0", 0x00, ""),
    ]

    @Test("What can't be read according to the standard is malformed", arguments: malformed)
    func malformedPacket(refusal: Refusal) {
        expectRefused(refusal, .malformedPacket)
    }

    @Test(
        "Remaining Lengths that aren't minimal, or longer than 4 bytes",
        arguments: ["C0 80 00", "C0 80 80 00", "C0 80 80 80 00", "30 FF FF FF FF", "30 85 80 00", "30 80 80 80 80 01"])
    func remainingLength(bytes: String) {
        let bytes = wire(bytes)
        #expect(DecoderRun(bytes).error?.reason == .malformedPacket)
        #expect(DecoderRun(bytes.indices.map { bytes[$0...$0] }) == DecoderRun(bytes))
    }

    // MARK: - Protocol errors (0x82)

    static let protocolErrors = [
        Refusal("Receive Maximum 0", 0x10, "'MQTT' 05 00 0000 03 21 0000 'a'"),
        Refusal("Maximum Packet Size 0", 0x10, "'MQTT' 05 00 0000 05 27 00000000 'a'"),
        Refusal("Request Problem Information 2", 0x10, "'MQTT' 05 00 0000 02 17 02 'a'"),
        Refusal("Request Response Information 255", 0x10, "'MQTT' 05 00 0000 02 19 FF 'a'"),
        Refusal("Authentication Data without a method", 0x10, "'MQTT' 05 00 0000 04 16 'x' 'a'"),
        Refusal("Receive Maximum twice", 0x10, "'MQTT' 05 00 0000 06 21 0001 21 0001 'a'"),
        Refusal("will with a wildcard", 0x10, "'MQTT' 05 04 0000 00 'a' 00 'w/#' ''"),
        Refusal("will without a topic", 0x10, "'MQTT' 05 04 0000 00 'a' 00 '' ''"),
        Refusal("will with Payload Format Indicator 2", 0x10, "'MQTT' 05 04 0000 00 'a' 02 01 02 'w' ''"),
        Refusal(
            "will with Will Delay Interval twice", 0x10,
            "'MQTT' 05 04 0000 00 'a' 0A 18 00000000 18 00000000 'w' ''"),
        Refusal("CONNACK with Receive Maximum 0", 0x20, "00 00 03 21 0000"),
        Refusal("CONNACK with Maximum QoS 2", 0x20, "00 00 02 24 02"),
        Refusal("CONNACK with Retain Available 2", 0x20, "00 00 02 25 02"),
        Refusal("CONNACK with Maximum Packet Size 0", 0x20, "00 00 05 27 00000000"),
        Refusal("CONNACK with Wildcard Subscription Available 2", 0x20, "00 00 02 28 02"),
        Refusal("CONNACK with Subscription Identifier Available 2", 0x20, "00 00 02 29 02"),
        Refusal("CONNACK with Shared Subscription Available 2", 0x20, "00 00 02 2A 02"),
        Refusal("CONNACK with Authentication Data without a method", 0x20, "00 00 04 16 'x'"),
        Refusal("session of a refused connection", 0x20, "01 87 00"),
        Refusal("packet identifier 0 of PUBLISH", 0x32, "'a' 0000 00"),
        Refusal("no topic and no alias", 0x30, "'' 00"),
        Refusal("+ in a topic", 0x30, "'a/+' 00"),
        Refusal("# in a topic", 0x30, "'a#' 00"),
        Refusal("Payload Format Indicator 2", 0x30, "'a' 02 01 02"),
        Refusal("Subscription Identifier 0", 0x30, "'a' 02 0B 00"),
        Refusal("Content Type twice", 0x30, "'a' 06 03 0000 03 0000"),
        Refusal("Response Topic with a wildcard", 0x30, "'a' 04 08 '+'"),
        Refusal("empty Response Topic", 0x30, "'a' 03 08 ''"),
        Refusal("packet identifier 0 of PUBACK", 0x40, "0000"),
        Refusal("Reason String twice", 0x40, "0001 00 06 1F 0000 1F 0000"),
        Refusal("packet identifier 0 of SUBSCRIBE", 0x82, "0000 00 'a' 00"),
        Refusal("SUBSCRIBE without a filter", 0x82, "0001 00"),
        Refusal("maximum QoS 3", 0x82, "0001 00 'a' 03"),
        Refusal("retain handling 3", 0x82, "0001 00 'a' 30"),
        Refusal("No Local of a shared subscription", 0x82, "0001 00 '$share/g/a' 04"),
        Refusal("SUBSCRIBE with Subscription Identifier 0", 0x82, "0001 02 0B 00 'a' 00"),
        Refusal("SUBSCRIBE with Subscription Identifier twice", 0x82, "0001 04 0B 01 0B 01 'a' 00"),
        Refusal("packet identifier 0 of SUBACK", 0x90, "0000 00 00"),
        Refusal("SUBACK without a reason code", 0x90, "0001 00"),
        Refusal("packet identifier 0 of UNSUBSCRIBE", 0xA2, "0000 00 'a'"),
        Refusal("UNSUBSCRIBE without a filter", 0xA2, "0001 00"),
        Refusal("packet identifier 0 of UNSUBACK", 0xB0, "0000 00 00"),
        Refusal("UNSUBACK without a reason code", 0xB0, "0001 00"),
        Refusal("DISCONNECT with Session Expiry Interval twice", 0xE0, "00 0A 11 00000000 11 00000000"),
    ]

    @Test("What can be read and isn't allowed is a protocol error", arguments: protocolErrors)
    func protocolError(refusal: Refusal) {
        expectRefused(refusal, .protocolError)
    }

    // MARK: - Other reasons

    @Test("The topic alias 0 is refused with 0x94")
    func topicAlias() {
        expectRefused(Refusal("topic alias 0", 0x30, "'a' 03 23 0000"), .topicAliasInvalid)
    }

    @Test(
        "Other versions are refused with 0x84, whatever follows",
        arguments: [
            "'MQTT' 04 02 003C 'a'", "'MQTT' 06", "'MQTT' 84 FF FF", "'MQTT' 00", "'MQIsdp' 03 02 003C 'a'",
            "'MQIsdp' 05 02 003C 00 'a'",
        ])
    func version(body: String) {
        expectRefused(Refusal(body, 0x10, body), .unsupportedProtocolVersion)
    }

    @Test(
        "Valid topic filters",
        arguments: [
            "#", "+", "/", "//", "a", "a/#", "+/#", "/#", "/+", "+/+/+", "a/+/b", "$SYS/#", "$share", "$shared/g",
            "$share/g/#", "$share/g//", "$share/g/+/a", "a b/\u{E9}",
        ])
    func validFilter(filter: String) {
        let subscribe = MQTTSubscribe(packetID: 1, filters: [MQTTSubscribe.Filter(filter)])
        #expect(DecoderRun(packet(0x82, "0001 00 '\(filter)' 01")).packet == .subscribe(subscribe))
        let unsubscribe = MQTTUnsubscribe(packetID: 1, filters: [filter])
        #expect(DecoderRun(packet(0xA2, "0001 00 '\(filter)'")).packet == .unsubscribe(unsubscribe))
    }

    @Test(
        "Topic filters that break a rule",
        arguments: [
            "", "a#", "#a", "#/", "#/a", "##", "a/#/b", "a+", "+a", "++", "a/b+", "a/+b/c", "+#", "#+",
            "$share/", "$share/g", "$share/g/", "$share//a", "$share/+/a", "$share/#", "$share/g#/a", "$share/g/a#",
            "$share/g/#/b",
        ])
    func invalidFilter(filter: String) {
        expectRefused(Refusal("filter \(filter)", 0x82, "0001 00 '\(filter)' 01"), .protocolError)
        expectRefused(Refusal("filter \(filter)", 0xA2, "0001 00 '\(filter)'"), .protocolError)
        expectRefused(Refusal("second \(filter)", 0xA2, "0001 00 'a' '\(filter)'"), .protocolError)
    }

    @Test("Each property is allowed in its packets only, and there but once")
    func everyProperty() {
        // Name of a packet: its first byte, what stands before its properties, and what stands after them.
        let packets: [Character: (UInt8, String, String)] = [
            "C": (0x10, "'MQTT' 05 00 0000", "'a'"), "W": (0x10, "'MQTT' 05 04 0000 00 'a'", "'w' ''"),
            "A": (0x20, "00 00", ""), "P": (0x30, "'a'", ""), "K": (0x40, "0001 00", ""),
            "S": (0x82, "0001", "'a' 00"), "s": (0x90, "0001", "00"), "U": (0xA2, "0001", "'a'"),
            "u": (0xB0, "0001", "00"), "D": (0xE0, "00", ""),
        ]
        // Table 2-4 of the standard: the property with a value, and where it is allowed.
        let properties: [(String, String)] = [
            ("01 01", "PW"), ("02 00000001", "PW"), ("03 'a'", "PW"), ("08 'a'", "PW"), ("09 'a'", "PW"),
            ("0B 01", "PS"), ("11 00000001", "CAD"), ("12 'a'", "A"), ("13 0001", "A"), ("15 'a'", "CA"),
            ("17 01", "C"), ("18 00000001", "W"), ("19 01", "C"), ("1A 'a'", "A"), ("1C 'a'", "AD"),
            ("1F 'a'", "AKsuD"), ("21 0001", "CA"), ("22 0001", "CA"), ("23 0001", "P"), ("24 01", "A"),
            ("25 01", "A"), ("26 'a' 'b'", "CWAPKSsUuD"), ("27 00000001", "CA"), ("28 01", "A"), ("29 01", "A"),
            ("2A 01", "A"),
        ]
        for (property, places) in properties {
            for (place, (firstByte, before, after)) in packets {
                let once = wire(property)
                for count in 1...2 {
                    let list = Array(repeating: once, count: count).flatMap { $0 }
                    let body = wire(before) + [UInt8(list.count)] + list + wire(after)
                    let reason = DecoderRun([firstByte, UInt8(body.count)] + body).error?.reason
                    let mayRepeat = once[0] == 0x26 || (once[0] == 0x0B && place == "P")
                    let expected: MQTTReason? =
                        !places.contains(place) ? .malformedPacket : count == 1 || mayRepeat ? nil : .protocolError
                    #expect(reason == expected, "\(property), \(count) times in \(place)")
                }
            }
        }
    }
}
