import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// The reason codes that a device can cause (`Documentation/link.md`).
@Suite struct WireRulesTests {
    private let device = DeviceID.test(1)

    // MARK: - Before CONNECT is accepted

    @Test("A first packet that is not CONNECT closes the connection without a word")
    func firstPacket() {
        var gateway = TestGateway()
        let link = gateway.open()
        let effects = gateway.receive(.pingreq, on: link, of: device)
        #expect(effects.packets.isEmpty && effects.closed == [link])
    }

    @Test("Without CONNECT in 5 s the connection is closed")
    func helloDeadline() {
        var gateway = TestGateway()
        let link = gateway.open()
        #expect(gateway.machine.deadline(of: link) == gateway.now.advanced(by: .seconds(5)))
        gateway.now = gateway.now.advanced(by: .seconds(4))
        #expect(gateway.handle(.linkDeadlineReached(link)).isEmpty)
        gateway.now = gateway.now.advanced(by: .seconds(1))
        let effects = gateway.handle(.linkDeadlineReached(link))
        #expect(effects.packets.isEmpty && effects.closed == [link])
    }

    @Test(
        "Bytes that are no CONNECT get CONNACK only for the version and the size",
        arguments: [
            (MQTTReason.unsupportedProtocolVersion, true), (.packetTooLarge, true), (.malformedPacket, false),
            (.protocolError, false),
        ])
    func malformedHello(reason: MQTTReason, isAnswered: Bool) {
        var gateway = TestGateway()
        let link = gateway.open()
        let effects = gateway.handle(.failed(link, reason, "wrong"))
        #expect(effects.connack?.reason == (isAnswered ? reason : nil))
        #expect(effects.disconnect == nil && effects.closed == [link])
    }

    enum BadHello: CaseIterable {
        case will, method, clientID, otherKey, noKey, wrongKey, unknown, revoked, smallPackets, revision
    }

    @Test("A CONNECT that breaks a rule is refused with its reason code", arguments: BadHello.allCases)
    func badHello(_ bad: BadHello) {
        var gateway = TestGateway()
        var packet = MQTTConnect.test(device)
        var proof = LinkProof.key(device, TestGateway.key)
        let expected: MQTTReason
        switch bad {
        case .will:
            packet.hasWill = true
            expected = .implementationSpecificError
        case .method:
            packet.authenticationMethod = "SCRAM-SHA-1"
            expected = .badAuthenticationMethod
        case .clientID:
            packet.clientID = "somebody"
            expected = .clientIDNotValid
        case .otherKey:
            proof = .key(.test(2), TestGateway.key)
            expected = .clientIDNotValid
        case .noKey:
            proof = .none
            expected = .notAuthorized
        case .wrongKey:
            proof = .wrong("the signature is not valid")
            expected = .notAuthorized
        case .unknown:
            packet.clientID = DeviceID.test(3).rawValue
            proof = .key(.test(3), TestGateway.key)
            expected = .notAuthorized
        case .revoked:
            gateway.handle(.revoke(device))
            expected = .notAuthorized
        case .smallPackets:
            packet.maximumPacketSize = 8191
            expected = .implementationSpecificError
        case .revision:
            packet.userProperties = [MQTTUserProperty("revision", "-1")]
            expected = .implementationSpecificError
        }
        let link = gateway.open()
        let effects = gateway.handle(.received(link, .connect(packet), proof))
        #expect(effects.connack?.reason == expected)
        #expect(effects.connack?.reasonString?.isEmpty == false)
        #expect(effects.closed == [link] && effects.disconnect == nil)
        #expect(!gateway.machine.isOnline(device))
    }

    @Test("A device that connects more than ten times at once is told when to come again")
    func connectRate() {
        var gateway = TestGateway()
        for _ in 0..<10 { #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success) }
        let refused = gateway.connect(device, on: gateway.open()).connack
        #expect(refused?.reason == .connectionRateExceeded)
        #expect(refused?.userProperties == [MQTTUserProperty("retry-after", "6")])
        gateway.now = gateway.now.advanced(by: .seconds(6))
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
    }

    @Test("A gateway that stops refuses new devices, and lets linked ones go with a time to come again")
    func stop() {
        var gateway = TestGateway()
        let link = gateway.link()
        let effects = gateway.handle(.stop)
        #expect(effects.disconnect?.reason == .serverShuttingDown)
        #expect(effects.disconnect?.userProperties == [MQTTUserProperty("retry-after", "1")])
        #expect(effects.closed == [link])
        let refused = gateway.connect(device, on: gateway.open()).connack
        #expect(refused?.reason == .serverUnavailable)
        #expect(refused?.userProperties.first?.name == "retry-after")
    }

    // MARK: - CONNACK

    @Test("CONNACK states the subset, and names run, clock, revision, epoch and keep-alive")
    func connack() throws {
        var gateway = TestGateway()
        gateway.timing = LinkTiming(keepAlive: 240)
        let packet = try #require(
            gateway.connect(device, on: gateway.open(), ["version": "1", "revision": "1"]) {
                $0.keepAlive = 60
                $0.sessionExpiryInterval = 3600
                $0.authenticationMethod = LinkHello.method
                $0.authenticationData = [1]
            }.connack)
        #expect(!packet.sessionPresent)
        #expect(packet.receiveMaximum == 16 && packet.maximumQoS == 1 && packet.topicAliasMaximum == 0)
        #expect(packet.retainAvailable == false && packet.wildcardSubscriptionAvailable == false)
        #expect(packet.sharedSubscriptionAvailable == false && packet.subscriptionIdentifiersAvailable == false)
        #expect(packet.sessionExpiryInterval == 0 && packet.maximumPacketSize == 65_536)
        #expect(packet.authenticationMethod == LinkHello.method && packet.authenticationData == nil)
        #expect(packet.serverKeepAlive == 0)
        #expect(packet.userProperties.map(\.name) == ["run", "now", "revision", "epoch", "keepalive"])
        let welcome = try #require(LinkWelcome(packet))
        #expect(welcome.run == TestGateway.run && welcome.now == 10_000_000)
        #expect(welcome.revision == 1 && welcome.epoch == TestGateway.epoch)
        #expect(welcome.timing == LinkTiming(keepAlive: 240))
    }

    @Test("A stock client keeps the keep-alive it asked for, and is disconnected when it is silent for longer")
    func keepAlive() {
        var gateway = TestGateway()
        let link = gateway.open()
        #expect(gateway.connect(device, on: link) { $0.keepAlive = 60 }.connack?.serverKeepAlive == 60)
        gateway.now = gateway.now.advanced(by: .seconds(89))
        #expect(gateway.receive(.pingreq, on: link, of: device).packets == [.pingresp])
        gateway.now = gateway.now.advanced(by: .seconds(89))
        #expect(gateway.handle(.linkDeadlineReached(link)).isEmpty)
        gateway.now = gateway.now.advanced(by: .seconds(1))
        #expect(gateway.handle(.linkDeadlineReached(link)).disconnect?.reason == .keepAliveTimeout)
    }

    // MARK: - SUBSCRIBE

    @Test("Only the device's own topic is granted, at QoS 1, and nothing is delivered before")
    func subscriptions() {
        var gateway = TestGateway()
        let link = gateway.open()
        gateway.connect(device, on: link)
        #expect(gateway.push().publishes.isEmpty)
        let own = LinkTopic.down(device)
        let filters: [(MQTTSubscribe.Filter, MQTTReason)] = [
            (.init(LinkTopic.down(.test(2))), .notAuthorized), (.init(LinkTopic.up(device)), .notAuthorized),
            (.init("ringwake/1/d/#"), .wildcardSubscriptionsNotSupported),
            (.init("ringwake/+/d/x"), .wildcardSubscriptionsNotSupported),
            (.init("$share/a/\(own)"), .sharedSubscriptionsNotSupported),
            (.init(own, maximumQoS: 0), .implementationSpecificError),
        ]
        let refused = gateway.receive(
            .subscribe(MQTTSubscribe(packetID: 3, filters: filters.map(\.0))), on: link, of: device)
        #expect(refused.suback?.reasons == filters.map(\.1))
        #expect(refused.suback?.reasonString == "subscribe with QoS 1" && refused.publishes.isEmpty)
        let granted = gateway.receive(
            .subscribe(MQTTSubscribe(packetID: 4, filters: [.init(own, maximumQoS: 2)])), on: link, of: device)
        #expect(granted.suback?.reasons == [.grantedQoS1] && granted.publishes.count == 1)
    }

    @Test("A device without problem information gets no reason strings in SUBACK and PUBACK")
    func noReasonStrings() {
        var gateway = TestGateway()
        let link = gateway.open()
        gateway.connect(device, on: link) { $0.requestsProblemInformation = false }
        let subscribe = MQTTSubscribe(packetID: 3, filters: [.init("elsewhere")])
        #expect(gateway.receive(.subscribe(subscribe), on: link, of: device).suback?.reasonString == nil)
        let answer = gateway.publish("{", on: link, of: device).puback
        #expect(answer?.reason == .payloadFormatInvalid && answer?.reasonString == nil)
    }

    @Test("After UNSUBSCRIBE nothing is sent until the next SUBSCRIBE")
    func unsubscribe() {
        var gateway = TestGateway()
        let link = gateway.link()
        let packet = MQTTUnsubscribe(packetID: 9, filters: [LinkTopic.down(device), "other"])
        let effects = gateway.receive(.unsubscribe(packet), on: link, of: device)
        #expect(effects.packets == [.unsuback(MQTTUnsuback(packetID: 9, reasons: [.success, .noSubscriptionExisted]))])
        #expect(gateway.push().publishes.isEmpty)
        #expect(gateway.subscribe(device, on: link).publishes.count == 1)
    }

    // MARK: - Packets that end a link

    enum BadPacket: CaseIterable {
        case qos0, qos2, retain, alias, subscriptionIdentifier, auth, connect, connack, unknownPuback, sameID, flood
        case malformed, large
    }

    @Test("A packet outside of the subset ends the link with its reason code", arguments: BadPacket.allCases)
    func badPacket(_ bad: BadPacket) {
        var gateway = TestGateway()
        let link = gateway.link()
        var publish = MQTTPublish(topic: LinkTopic.up(device), packetID: 1, payload: registrationsJSON)
        var effects: [LinkGatewayEffect]
        let expected: MQTTReason
        switch bad {
        case .qos0:
            publish.qos = 0
            publish.packetID = nil
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .protocolError
        case .qos2:
            publish.qos = 2
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .qosNotSupported
        case .retain:
            publish.isRetained = true
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .retainNotSupported
        case .alias:
            publish.topicAlias = 1
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .topicAliasInvalid
        case .subscriptionIdentifier:
            var packet = MQTTSubscribe(packetID: 2, filters: [.init(LinkTopic.down(device))])
            packet.subscriptionIdentifier = 5
            effects = gateway.receive(.subscribe(packet), on: link, of: device)
            expected = .subscriptionIdentifiersNotSupported
        case .auth:
            effects = gateway.receive(.unsupported(type: 15), on: link, of: device)
            expected = .protocolError
        case .connect:
            effects = gateway.connect(device, on: link)
            expected = .protocolError
        case .connack:
            effects = gateway.receive(.connack(MQTTConnack(.success)), on: link, of: device)
            expected = .protocolError
        case .unknownPuback:
            effects = gateway.receive(.puback(MQTTPuback(packetID: 77)), on: link, of: device)
            expected = .protocolError
        case .sameID:
            gateway.receive(.publish(publish), on: link, of: device)
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .protocolError
        case .flood:
            for id in 1...16 as ClosedRange<UInt16> {
                publish.packetID = id
                #expect(gateway.receive(.publish(publish), on: link, of: device).disconnect == nil)
            }
            publish.packetID = 17
            effects = gateway.receive(.publish(publish), on: link, of: device)
            expected = .receiveMaximumExceeded
        case .malformed:
            effects = gateway.handle(.failed(link, .malformedPacket, "wrong"))
            expected = .malformedPacket
        case .large:
            effects = gateway.handle(.failed(link, .packetTooLarge, "wrong"))
            expected = .packetTooLarge
        }
        #expect(effects.disconnect?.reason == expected)
        #expect(effects.closed == [link] && !gateway.machine.isOnline(device))
        #expect(gateway.receive(.pingreq, on: link, of: device).isEmpty)
    }

    @Test("A PUBLISH on another topic is not authorized, and the link stays")
    func otherTopic() {
        var gateway = TestGateway()
        let link = gateway.link()
        let packet = MQTTPublish(topic: LinkTopic.up(.test(2)), packetID: 1, payload: registrationsJSON)
        let effects = gateway.receive(.publish(packet), on: link, of: device)
        #expect(effects.puback?.reason == .notAuthorized && effects.closed.isEmpty)
    }

    @Test("A long text of a device comes back short and on one line in the reason string")
    func shortReason() throws {
        var gateway = TestGateway()
        let link = gateway.link()
        let slot = String(repeating: "x\\u0000\\n", count: 6_000)
        let json = """
            {"op":"registrations","revision":2,"registrations":[{"slot":"\(slot)","app":"a.b","topics":["t"],\
            "environment":"production","token":"00"}]}
            """
        let text = try #require(gateway.publish(json, on: link, of: device).puback?.reasonString)
        #expect(text.utf8.count <= 300 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test("DISCONNECT of the device takes it offline")
    func leave() {
        var gateway = TestGateway()
        let link = gateway.link()
        let effects = gateway.receive(.disconnect(MQTTDisconnect()), on: link, of: device)
        #expect(effects.packets.isEmpty && effects.closed == [link] && !gateway.machine.isOnline(device))
    }

    private var registrationsJSON: [UInt8] {
        UplinkMessage.registrations(
            LinkRegistrations(revision: 2, registrations: [.test(device, slot: .first)])
        ).json
    }

    @Test("More than 100 packets at once end the connection with 0x96, acknowledgements not counted")
    func packetRate() {
        var gateway = TestGateway()
        let link = gateway.link(device)
        // CONNECT and SUBSCRIBE count.
        for _ in 0..<98 { #expect(gateway.receive(.pingreq, on: link, of: device).closed.isEmpty) }
        for number in 0..<50 {
            gateway.acknowledge(gateway.push(to: device, id: "\(number)").publish, on: link)
        }
        gateway.now = gateway.now.advanced(by: .seconds(1))
        for _ in 0..<10 { #expect(gateway.receive(.pingreq, on: link, of: device).closed.isEmpty) }
        let effects = gateway.receive(.pingreq, on: link, of: device)
        #expect(effects.disconnect?.reason == .messageRateTooHigh && effects.closed == [link])
    }

    @Test("A device for which there is no place is refused with 0x89, but not if it has a link already")
    func noPlace() {
        var gateway = TestGateway([.test(1), .test(2)])
        _ = gateway.link(.test(2))
        gateway.hasRoom = false
        let refused = gateway.connect(device, on: gateway.open()).connack
        #expect(refused?.reason == .serverBusy)
        #expect(refused?.userProperties.first { $0.name == "retry-after" }?.value == "60")
        #expect(gateway.connect(.test(2), on: gateway.open()).connack?.reason == .success)
    }

    @Test("A subscription identifier in PUBLISH of a device is a protocol error")
    func subscriptionIdentifierInPublish() {
        var gateway = TestGateway()
        let link = gateway.link(device)
        var packet = MQTTPublish(topic: LinkTopic.up(device), packetID: 1, payload: [])
        packet.subscriptionIdentifiers = [1]
        #expect(gateway.receive(.publish(packet), on: link, of: device).disconnect?.reason == .protocolError)
    }
}
