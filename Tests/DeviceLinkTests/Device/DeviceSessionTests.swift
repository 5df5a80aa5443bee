import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct DeviceSessionTests {
    private let device = DeviceID.test(1)
    private let now = BootInstant.at(.seconds(100))

    private func session(
        _ purpose: DeviceSession.Purpose = .link, receiveMaximum: UInt16 = 16
    ) -> (DeviceSession, [DeviceSession.Output]) {
        var session = DeviceSession(device: device, purpose: purpose)
        let greeting = DeviceSession.Greeting(
            version: "1", revision: 3, registrations: DeviceRecord.test(device).registrations, epoch: "store-1",
            network: "home", receiveMaximum: receiveMaximum)
        let outputs = session.begin(greeting, authentication: [1, 2], at: now)
        return (session, outputs)
    }

    private var connack: MQTTConnack {
        var packet = MQTTConnack(.success)
        packet.userProperties = [
            MQTTUserProperty("run", "00000000000000aa"), MQTTUserProperty("now", "5"),
            MQTTUserProperty("epoch", "store-1"), MQTTUserProperty("revision", "3"),
        ]
        return packet
    }

    private func linked(receiveMaximum: UInt16 = 16) -> DeviceSession {
        var session = session(receiveMaximum: receiveMaximum).0
        _ = session.receive(.connack(connack), at: now)
        #expect(session.receive(.suback(MQTTSuback(packetID: 1, reasons: [.grantedQoS1])), at: now) == [.linked])
        return session
    }

    private func push(_ id: UInt16) -> MQTTPacket {
        .publish(LinkPush.row(UInt64(id)).packet(to: device, packetID: id, floor: nil, now: 0))
    }

    private func puback(_ id: UInt16, _ reason: MQTTReason = .success) -> DeviceSession.Output {
        .send(.puback(MQTTPuback(packetID: id, reason: reason)))
    }

    @Test("CONNECT names the version, the revision and what tells the registrations apart, the store and the network")
    func connect() throws {
        guard case .send(.connect(let packet)) = session().1.first else {
            Issue.record("the first packet is not CONNECT")
            return
        }
        #expect(packet.clientID == device.rawValue && packet.sessionExpiryInterval == 0 && !packet.hasWill)
        #expect(packet.maximumPacketSize == 65_536 && packet.receiveMaximum == 16 && packet.keepAlive == 0)
        #expect(packet.authenticationMethod == "ringwake-es256" && packet.authenticationData == [1, 2])
        #expect(
            packet.userProperties.map { "\($0.name)=\($0.value)" } == [
                "version=1", "revision=3", "slots=2",
                "tokens=\(LinkRegistration.mark(of: DeviceRecord.test(device).registrations))", "epoch=store-1",
                "network=home",
            ])
    }

    @Test("After CONNACK the device subscribes, and is linked with SUBACK")
    func subscribes() {
        var session = session().0
        let outputs = session.receive(.connack(connack), at: now)
        let filter = MQTTSubscribe.Filter(LinkTopic.down(device))
        #expect(outputs.last == .send(.subscribe(MQTTSubscribe(packetID: 1, filters: [filter]))))
        #expect(session.deadline == now.advanced(by: .seconds(10)) && !session.isLinked)
        #expect(session.receive(.suback(MQTTSuback(packetID: 1, reasons: [.grantedQoS1])), at: now) == [.linked])
        #expect(session.deadline == nil && session.isLinked)
    }

    @Test("A gateway that does not answer in time is left", arguments: [0, 1])
    func deadlines(step: Int) {
        var session = session().0
        if step > 0 { _ = session.receive(.connack(connack), at: now) }
        #expect(session.deadlineReached(at: now.advanced(by: .seconds(9))).isEmpty)
        guard case .end(let end) = session.deadlineReached(at: now.advanced(by: .seconds(10))).last else {
            Issue.record("the session did not end")
            return
        }
        #expect(end.cause == .broken && session.isEnded && session.deadline == nil)
    }

    @Test("A refusal says when to come again, an hour at most", arguments: [("30", 30), ("99999", 3600)])
    func refusal(text: String, seconds: Int) {
        var session = session().0
        var packet = MQTTConnack(.connectionRateExceeded)
        packet.userProperties = [MQTTUserProperty("retry-after", text)]
        let end = LinkEnd(.refused(.connectionRateExceeded), nil, retryAfter: .seconds(seconds))
        #expect(session.receive(.connack(packet), at: now) == [.end(end)])
    }

    @Test(
        "A server that is no gateway is left, also one with an absurd clock",
        arguments: ["-1", "9223372036854775807", "x", ""])
    func noGateway(clock: String) {
        var session = session().0
        var packet = connack
        packet.userProperties[1] = MQTTUserProperty("now", clock)
        _ = session.receive(.connack(packet), at: now)
        #expect(session.isEnded)
    }

    @Test("A subscription that is refused ends the link")
    func refusedSubscription() {
        var session = session().0
        _ = session.receive(.connack(connack), at: now)
        _ = session.receive(.suback(MQTTSuback(packetID: 1, reasons: [.notAuthorized])), at: now)
        #expect(session.isEnded)
    }

    @Test("Each settlement has its reason code")
    func settlements() {
        let list: [(DeviceSession.Settlement, MQTTReason)] = [
            (.durable, .success), (.unknownSlot, .topicNameInvalid), (.full, .quotaExceeded),
            (.failing, .implementationSpecificError), (.badPayload, .payloadFormatInvalid),
        ]
        var session = linked()
        for (settlement, reason) in list {
            #expect(session.receive(push(5), at: now) == [.push(packetID: 5, .row(5))])
            #expect(session.settle(5, settlement) == [puback(5, reason)])
            #expect(session.settle(5, settlement).isEmpty)
        }
    }

    @Test("Acknowledgements go out in the order of the pushes")
    func order() {
        var session = linked()
        for id in 5...7 as ClosedRange<UInt16> { _ = session.receive(push(id), at: now) }
        #expect(session.settle(6, .unknownSlot).isEmpty && session.settle(6, .durable).isEmpty)
        #expect(session.settle(5, .durable) == [puback(5), puback(6, .topicNameInvalid)])
        #expect(session.settle(7, .durable) == [puback(7)])
    }

    @Test("A push that can't be read is refused, and the link stays")
    func unreadable() {
        var session = linked()
        var packet = MQTTPublish(topic: LinkTopic.down(device), packetID: 9, payload: [])
        packet.userProperties = [MQTTUserProperty("priority", "11")]
        #expect(session.receive(.publish(packet), at: now) == [puback(9, .payloadFormatInvalid)])
        #expect(session.isLinked)
    }

    enum BadPacket: CaseIterable {
        case otherTopic, qos0, sameID, tooMany, unknownPuback, connack, suback, unsolicitedType
    }

    @Test("A gateway that breaks a rule is left", arguments: BadPacket.allCases)
    func badPacket(_ bad: BadPacket) {
        var session = linked(receiveMaximum: 2)
        var publish = LinkPush.row(1).packet(to: device, packetID: 1, floor: nil, now: 0)
        var packet: MQTTPacket
        var reason = MQTTReason.protocolError
        switch bad {
        case .otherTopic:
            publish.topic = LinkTopic.down(.test(2))
            packet = .publish(publish)
        case .qos0:
            publish.qos = 0
            publish.packetID = nil
            packet = .publish(publish)
        case .sameID:
            _ = session.receive(push(1), at: now)
            packet = push(1)
        case .tooMany:
            _ = session.receive(push(1), at: now)
            _ = session.receive(push(2), at: now)
            packet = push(3)
            reason = .receiveMaximumExceeded
        case .unknownPuback: packet = .puback(MQTTPuback(packetID: 2))
        case .connack: packet = .connack(connack)
        case .suback: packet = .suback(MQTTSuback(packetID: 1, reasons: [.grantedQoS1]))
        case .unsolicitedType: packet = .pingreq
        }
        guard case .send(.disconnect(let sent)) = session.receive(packet, at: now).first else {
            Issue.record("the link stays")
            return
        }
        #expect(sent.reason == reason && session.isEnded)
    }

    @Test("An answer to PINGREQ does not hide that a PUBLISH is not answered, and the other way round")
    func twoDeadlines() {
        var session = linked()
        guard case .send(.publish(let packet)) = session.publish(.unpair, at: now).first, let id = packet.packetID
        else {
            Issue.record("nothing was published")
            return
        }
        let later = now.advanced(by: .seconds(3))
        #expect(session.ping(at: later) == [.send(.pingreq)])
        #expect(session.receive(.pingresp, at: later) == [.alive])
        #expect(session.deadline == now.advanced(by: .seconds(10)))
        _ = session.ping(at: later)
        #expect(session.receive(.puback(MQTTPuback(packetID: id)), at: later) == [.published(.success, nil)])
        #expect(session.deadline == later.advanced(by: .seconds(10)))
    }

    @Test("Of several PINGREQ the first limit counts, until the gateway has answered")
    func limits() {
        var session = linked()
        _ = session.ping(at: now, within: .seconds(3))
        _ = session.ping(at: now.advanced(by: .seconds(1)))
        #expect(session.deadline == now.advanced(by: .seconds(3)))
        _ = session.ping(at: now.advanced(by: .seconds(1)), within: .seconds(1))
        #expect(session.deadline == now.advanced(by: .seconds(2)))
        #expect(session.receive(.pingresp, at: now) == [.alive])
        #expect(session.deadline == nil)
        _ = session.ping(at: now)
        #expect(session.deadline == now.advanced(by: DeviceSession.answerTime))
    }

    @Test("PINGRESP before CONNACK does not let a gateway hold the device for ever")
    func earlyPong() {
        var session = session().0
        _ = session.receive(.pingresp, at: now)
        #expect(session.isEnded)
    }

    @Test("More than 16 messages at once, and a message that is too large, are not sent")
    func outgoingLimits() {
        var session = linked()
        for _ in 0..<16 { #expect(session.publish(.unpair, at: now).count == 1) }
        guard case .published(.receiveMaximumExceeded, _) = session.publish(.unpair, at: now).first else {
            Issue.record("a 17th message was published")
            return
        }
        var other = linked()
        let registration = LinkRegistration(
            slot: .first, app: .test, topics: [Topic(String(repeating: "t", count: 70_000))],
            environment: .production, token: "")
        let set = LinkRegistrations(revision: 1, registrations: [registration])
        guard case .published(.packetTooLarge, _) = other.publish(.registrations(set), at: now).first else {
            Issue.record("a large message was published")
            return
        }
    }

    @Test("DISCONNECT of the gateway ends the link with its reason and its time")
    func disconnected() {
        var session = linked()
        var packet = MQTTDisconnect(.serverShuttingDown, reasonString: "later")
        packet.userProperties = [MQTTUserProperty("retry-after", "7")]
        let end = LinkEnd(.disconnected(.serverShuttingDown), "later", retryAfter: .seconds(7))
        #expect(session.receive(.disconnect(packet), at: now) == [.end(end)])
        #expect(session.settle(1, .durable).isEmpty && session.leave().isEmpty)
    }

    @Test("A device leaves in order")
    func leave() {
        var session = linked()
        #expect(session.leave() == [.send(.disconnect(MQTTDisconnect(.success))), .end(LinkEnd(.left, nil))])
    }

    @Test("A gateway that does not leave after a pairing is left")
    func pairingEnds() {
        let request = UplinkMessage.PairRequest(code: "AB", name: nil, sealing: nil, signature: nil)
        var session = session(.pair(request)).0
        guard case .send(.publish(let packet)) = session.receive(.connack(connack), at: now).last,
            let id = packet.packetID
        else {
            Issue.record("no code was sent")
            return
        }
        #expect(session.receive(.puback(MQTTPuback(packetID: id)), at: now) == [.published(.success, nil)])
        #expect(session.deadline == now.advanced(by: .seconds(10)))
    }
}
