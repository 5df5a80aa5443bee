import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct LinkPushTests {
    private let device = DeviceID.test(1)

    @Test("A push survives its packet, with and without what is optional")
    func roundTrip() {
        let full = LinkPush(
            key: MailKey(run: .max, sequence: 1), pushID: "a", slot: LinkSlot(rawValue: 0xABCD), arrivedWall: 5,
            arrivedBoot: -7, expires: 9, priority: .low, type: "alert", topic: .alert, environment: .development,
            sender: "T", collapseID: "c", notice: .tooOld, content: .sealed, payload: [1, 2])
        for push in [full, .row(3)] {
            #expect(LinkPush(push.packet(to: device, packetID: 1, floor: push.key, now: 0)) == push)
        }
    }

    @Test("A notice whose reason is of a later version stays a notice")
    func laterNotice() {
        var packet = LinkPush.row(1).packet(to: device, packetID: 1, floor: nil, now: 0)
        packet.userProperties.append(MQTTUserProperty("expired", "because"))
        #expect(LinkPush(packet)?.notice == .expired)
    }

    @Test(
        "A property that is missing or wrong makes a packet unreadable",
        arguments: [
            ("id", nil), ("run", "1"), ("run", "+000000000000001"), ("run", "-000000000000001"), ("seq", "-1"),
            ("slot", "xyz"), ("at", "now"), ("arrived", ""), ("priority", "3"), ("environment", "test"),
            ("sender", nil),
            ("topic", nil), ("type", nil),
        ] as [(String, String?)])
    func unreadable(name: String, value: String?) {
        var packet = LinkPush.row(1).packet(to: device, packetID: 1, floor: nil, now: 0)
        packet.userProperties.removeAll { $0.name == name }
        if let value { packet.userProperties.append(MQTTUserProperty(name, value)) }
        #expect(LinkPush(packet) == nil)
    }

    @Test(
        "Message Expiry Interval is the time that is left, never 0 and never on a push without a time",
        arguments: [(nil, nil), (0, nil), (30_000, 20), (10_500, 1), (1, 1), (.max, .max)] as [(Int64?, UInt32?)])
    func messageExpiry(lifetime: Int64?, seconds: UInt32?) {
        let expires = lifetime.map { $0 == 0 || $0 == .max ? $0 : TestGateway.wall + $0 }
        let push = LinkPush.row(1, expires: expires, arrivedBoot: 0)
        let packet = push.packet(to: device, packetID: 1, floor: nil, now: 10_000)
        #expect(packet.messageExpiryInterval == seconds)
    }

    @Test("A name is 16 hex digits, a colon and a number")
    func names() {
        let key = MailKey(run: 0xAB, sequence: 12)
        #expect(key.text == "00000000000000ab:12" && MailKey(text: key.text) == key)
        for text in ["", ":", "ab:12", "00000000000000ab:", "00000000000000ab:1:2", "00000000000000xy:1"] {
            #expect(MailKey(text: text) == nil)
        }
    }

    @Test("A linked token belongs to its device and environment only")
    func tokens() throws {
        let digest = { (bytes: [UInt8]) in
            var sum = [UInt8](repeating: 0, count: 32)
            for (index, byte) in bytes.enumerated() { sum[index % 32] = sum[index % 32] &* 31 &+ byte }
            return sum
        }
        let random = [UInt8](0..<16)
        let token = try #require(
            LinkedToken.make(device: device, environment: .production, random: random, sha256: digest))
        #expect(LinkedToken.isBound(token, to: device, environment: .production, sha256: digest))
        #expect(!LinkedToken.isBound(token, to: .test(2), environment: .production, sha256: digest))
        #expect(!LinkedToken.isBound(token, to: device, environment: .development, sha256: digest))
        #expect(LinkedToken.make(device: device, environment: .production, random: [1], sha256: digest) == nil)
    }
}
