package import MQTT5
package import RingwakeCore

/// One connection to a gateway, on the device's side, from CONNECT on.
///
/// ```
/// greeting --CONNACK--> subscribing --SUBACK--> linked      purpose link
///          --CONNACK--> pairing --PUBACK--> ended           purpose pair
///          --CONNACK--> probing                             purpose probe
/// any --error, refusal, DISCONNECT, deadline--> ended
/// ```
package struct DeviceSession: Sendable {
    /// What the connection is for.
    package enum Purpose: Hashable, Sendable {
        case link
        case pair(UplinkMessage.PairRequest)
        case probe
    }

    /// What the owner has to do, in this order.
    package enum Output: Hashable, Sendable {
        case send(MQTTPacket)
        /// The gateway has accepted the device.
        case welcomed(LinkWelcome)
        /// Pushes come from now on.
        case linked
        /// Answer it with ``settle(_:_:)``.
        case push(packetID: UInt16, LinkPush)
        /// The gateway has answered a PINGREQ.
        case alive
        /// The gateway's registrations, as they were asked for.
        case registrations(GatewayRegistrations)
        /// The gateway has taken what was published, or has refused it.
        case published(MQTTReason, String?)
        /// Send what is to be sent, and close.
        case end(LinkEnd)
    }

    /// How a push was settled.
    package enum Settlement: Hashable, Sendable {
        /// It is in the journal, or was there already.
        case durable
        /// There is no such registration.
        case unknownSlot
        /// Too much waits for the disk.
        case full
        /// The journal can't write.
        case failing
        /// The payload can't be read.
        case badPayload

        fileprivate var reason: MQTTReason {
            switch self {
            case .durable: .success
            case .unknownSlot: .topicNameInvalid
            case .full: .quotaExceeded
            case .failing: .implementationSpecificError
            case .badPayload: .payloadFormatInvalid
            }
        }
    }

    /// How long the gateway may take for its answer to CONNECT, SUBSCRIBE or PUBLISH.
    package static let answerTime: Duration = .seconds(10)

    private enum State: Sendable {
        case greeting
        case subscribing
        case linked
        case pairing
        case probing
        case ended
    }

    private static let subscribeID: UInt16 = 1
    /// More than a message needs besides its JSON: the topic and a few properties.
    private static let headerBytes = 256

    package let device: DeviceID
    private let purpose: Purpose
    private var state = State.greeting
    /// When the gateway must have answered CONNECT, SUBSCRIBE or PUBLISH.
    private var answerBy: BootInstant?
    /// When it must have answered PINGREQ.
    private var pongBy: BootInstant?
    private var lastPublishID = Self.subscribeID
    private var publishing: Set<UInt16> = []
    /// Pushes that are not acknowledged, in the order of their arrival: acknowledgements have the same order
    /// (section 4.6.0 of the standard), so one that is settled early waits for those before it.
    private var pushes: [(packetID: UInt16, settlement: Settlement?)] = []
    private var receiveMaximum: UInt16 = .max

    package init(device: DeviceID, purpose: Purpose) {
        self.device = device
        self.purpose = purpose
    }

    package var isLinked: Bool { if case .linked = state { true } else { false } }
    package var isEnded: Bool { if case .ended = state { true } else { false } }

    /// When ``deadlineReached(at:)`` has to be called.
    package var deadline: BootInstant? { isEnded ? nil : [answerBy, pongBy].compactMap(\.self).min() }

    /// Introduces the device.
    ///
    /// - Parameters:
    ///   - greeting: what CONNECT says.
    ///   - authentication: the proof of the key; nil if a client certificate was shown.
    package mutating func begin(_ greeting: Greeting, authentication: [UInt8]?, at now: BootInstant) -> [Output] {
        var packet = MQTTConnect(clientID: device.rawValue)
        packet.maximumPacketSize = UInt32(LinkLimits.packetBytes)
        receiveMaximum = max(1, greeting.receiveMaximum)
        packet.receiveMaximum = receiveMaximum
        packet.sessionExpiryInterval = 0
        if let authentication {
            packet.authenticationMethod = LinkHello.method
            packet.authenticationData = authentication
        }
        packet.userProperties = [MQTTUserProperty(LinkHello.Name.version, greeting.version)]
        switch purpose {
        case .link:
            if greeting.hasMoved { packet.userProperties.append(MQTTUserProperty(LinkHello.Name.moved, "1")) }
            if greeting.wasAway { packet.userProperties.append(MQTTUserProperty(LinkHello.Name.away, "1")) }
            packet.userProperties += [
                MQTTUserProperty(LinkHello.Name.revision, String(greeting.revision)),
                MQTTUserProperty(LinkHello.Name.slots, String(greeting.registrations.count)),
                MQTTUserProperty(LinkHello.Name.tokens, LinkRegistration.mark(of: greeting.registrations)),
            ]
            if let server = greeting.server {
                packet.userProperties.append(MQTTUserProperty(LinkHello.Name.server, server))
            }
            if let epoch = greeting.epoch {
                packet.userProperties.append(MQTTUserProperty(LinkHello.Name.epoch, epoch))
            }
        case .pair: packet.userProperties.append(MQTTUserProperty(LinkHello.Name.pair, "1"))
        case .probe: packet.userProperties.append(MQTTUserProperty(LinkHello.Name.probe, "1"))
        }
        if let network = greeting.network {
            packet.userProperties.append(MQTTUserProperty(LinkHello.Name.network, network))
        }
        answerBy = now.advanced(by: Self.answerTime)
        return [.send(.connect(packet))]
    }

    /// What a device says of itself.
    package struct Greeting: Hashable, Sendable {
        package let version: String
        package let revision: UInt64
        package let registrations: [LinkRegistration]
        /// The gateway's store that it knows.
        package let epoch: String?
        /// A label of its network.
        package let network: String?
        /// Pushes that it takes at once.
        package let receiveMaximum: UInt16
        /// Whether it has another gateway, and comes for what waits for it.
        package var hasMoved = false
        /// Whether the machine slept or was off since the last link.
        package var wasAway = false
        /// The gateway's address as the device knows it: `host:port`.
        package var server: String?

        package init(
            version: String, revision: UInt64, registrations: [LinkRegistration], epoch: String?, network: String?,
            receiveMaximum: UInt16
        ) {
            self.version = version
            self.revision = revision
            self.registrations = registrations
            self.epoch = epoch
            self.network = network
            self.receiveMaximum = receiveMaximum
        }
    }

    /// Handles a packet of the gateway.
    package mutating func receive(_ packet: MQTTPacket, at now: BootInstant) -> [Output] {
        switch (state, packet) {
        case (.ended, _): return []
        case (_, .disconnect(let packet)):
            state = .ended
            return [
                .end(
                    LinkEnd(
                        .disconnected(packet.reason), packet.reasonString,
                        retryAfter: LinkEnd.retryAfter(packet.userProperties),
                        serverReference: packet.serverReference,
                        timing: LinkTiming(LinkProperties(packet.userProperties))))
            ]
        case (.greeting, .connack(let packet)): return welcomed(packet, at: now)
        case (.subscribing, .suback(let packet)):
            guard packet.packetID == Self.subscribeID, packet.reasons == [.grantedQoS1] else {
                return fail("the gateway refuses the subscription")
            }
            answerBy = nil
            state = .linked
            return [.linked]
        case (.linked, .publish(let packet)) where packet.contentType == GatewayRegistrations.contentType:
            guard packet.topic == LinkTopic.down(device), let state = GatewayRegistrations(json: packet.payload) else {
                return fail("the gateway sent registrations that this version can't read")
            }
            return [.registrations(state)]
        case (.linked, .publish(let packet)): return pushed(packet)
        case (.linked, .puback(let packet)), (.pairing, .puback(let packet)):
            guard publishing.remove(packet.packetID) != nil else { return fail("the gateway acknowledges nothing") }
            // After a pairing the gateway has to leave, too.
            if publishing.isEmpty, isLinked { answerBy = nil }
            return [.published(packet.reason, packet.reasonString)]
        case (.linked, .pingresp):
            pongBy = nil
            return [.alive]
        default: return fail("the gateway sent a packet that it must not send now")
        }
    }

    private mutating func welcomed(_ packet: MQTTConnack, at now: BootInstant) -> [Output] {
        guard packet.reason == .success else {
            state = .ended
            return [
                .end(
                    LinkEnd(
                        .refused(packet.reason), packet.reasonString,
                        retryAfter: LinkEnd.retryAfter(packet.userProperties),
                        serverReference: packet.serverReference))
            ]
        }
        guard let welcome = LinkWelcome(packet) else { return fail("the server is not a Ringwake gateway") }
        answerBy = now.advanced(by: Self.answerTime)
        var outputs = [Output.welcomed(welcome)]
        switch purpose {
        case .link:
            state = .subscribing
            let filter = MQTTSubscribe.Filter(LinkTopic.down(device))
            outputs.append(.send(.subscribe(MQTTSubscribe(packetID: Self.subscribeID, filters: [filter]))))
        case .pair(let request):
            state = .pairing
            outputs += send(UplinkMessage.pair(request).json)
        case .probe:
            state = .probing
            answerBy = nil
        }
        return outputs
    }

    private mutating func pushed(_ packet: MQTTPublish) -> [Output] {
        guard packet.qos == 1, let packetID = packet.packetID, packet.topic == LinkTopic.down(device) else {
            return fail("the gateway published something that is no push")
        }
        guard !pushes.contains(where: { $0.packetID == packetID }) else {
            return fail("the gateway used a packet id twice")
        }
        guard pushes.count < Int(receiveMaximum) else {
            return fail(.receiveMaximumExceeded, "the gateway sent more pushes at once than Receive Maximum allows")
        }
        pushes.append((packetID, nil))
        // One that this version can't read must not end the link: it would come again, and hold up all others.
        guard let push = LinkPush(packet) else { return settle(packetID, .badPayload) }
        return [.push(packetID: packetID, push)]
    }

    /// Publishes a message. Its answer is ``Output/published(_:_:)``, also if the gateway would not take it.
    package mutating func publish(_ message: UplinkMessage, at now: BootInstant) -> [Output] {
        guard isLinked else { return [] }
        guard publishing.count < Int(LinkLimits.receiveMaximum) else {
            return [.published(.receiveMaximumExceeded, "too many messages wait for the gateway's answer")]
        }
        let json = message.json
        guard json.count <= LinkLimits.packetBytes - Self.headerBytes else {
            return [.published(.packetTooLarge, "the message has more than \(LinkLimits.packetBytes) bytes")]
        }
        answerBy = answerBy ?? now.advanced(by: Self.answerTime)
        return send(json)
    }

    private mutating func send(_ json: [UInt8]) -> [Output] {
        repeat { lastPublishID &+= 1 } while lastPublishID <= Self.subscribeID || publishing.contains(lastPublishID)
        publishing.insert(lastPublishID)
        var packet = MQTTPublish(topic: LinkTopic.up(device), packetID: lastPublishID, payload: json)
        packet.isUTF8 = true
        packet.contentType = LinkPush.Content.plain.rawValue
        return [.send(.publish(packet))]
    }

    /// Answers a push. The answers to former ones go out before.
    package mutating func settle(_ packetID: UInt16, _ settlement: Settlement) -> [Output] {
        guard !isEnded,
            let index = pushes.firstIndex(where: { $0.packetID == packetID && $0.settlement == nil })
        else { return [] }
        pushes[index].settlement = settlement
        var outputs: [Output] = []
        while let (packetID, settlement) = pushes.first, let settlement {
            outputs.append(.send(.puback(MQTTPuback(packetID: packetID, reason: settlement.reason))))
            pushes.removeFirst()
        }
        return outputs
    }

    /// Asks the gateway for a sign of life.
    ///
    /// - Parameter limit: how long it may take to answer. An earlier question's limit stays, if that ends sooner.
    package mutating func ping(at now: BootInstant, within limit: Duration = answerTime) -> [Output] {
        guard isLinked else { return [] }
        let end = now.advanced(by: limit)
        pongBy = min(pongBy ?? end, end)
        return [.send(.pingreq)]
    }

    /// The gateway's bytes are no packets.
    package mutating func fail(_ text: String) -> [Output] { fail(.protocolError, text) }

    private mutating func fail(_ reason: MQTTReason, _ text: String) -> [Output] {
        guard !isEnded else { return [] }
        state = .ended
        return [.send(.disconnect(MQTTDisconnect(reason, reasonString: text))), .end(LinkEnd(.broken, text))]
    }

    /// The gateway has not answered in time.
    package mutating func deadlineReached(at now: BootInstant) -> [Output] {
        guard let deadline, deadline <= now else { return [] }
        state = .ended
        return [.end(LinkEnd(.broken, "the gateway did not answer in time"))]
    }

    /// Leaves in order.
    package mutating func leave() -> [Output] {
        guard !isEnded else { return [] }
        state = .ended
        return [.send(.disconnect(MQTTDisconnect(.success))), .end(LinkEnd(.left, nil))]
    }
}

/// How a connection to a gateway ended.
package struct LinkEnd: Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        /// CONNACK with this reason.
        case refused(MQTTReason)
        /// DISCONNECT with this reason.
        case disconnected(MQTTReason)
        /// The connection broke, or the gateway didn't keep to the protocol.
        case broken
        /// This side has left.
        case left
    }

    package let cause: Cause
    /// In words.
    package let text: String?
    /// When to try again, as the gateway says.
    package let retryAfter: Duration?
    /// Another gateway.
    package let serverReference: String?
    /// What follows of a probe.
    package let timing: LinkTiming?

    package init(
        _ cause: Cause, _ text: String?, retryAfter: Duration? = nil, serverReference: String? = nil,
        timing: LinkTiming? = nil
    ) {
        self.cause = cause
        self.text = text.map { shortText($0, bytes: 300) }
        self.retryAfter = retryAfter
        self.serverReference = serverReference
        self.timing = timing
    }

    /// At most an hour: the gateway might be somebody else's.
    fileprivate static func retryAfter(_ properties: [MQTTUserProperty]) -> Duration? {
        LinkProperties(properties)["retry-after"].flatMap { UInt32($0) }.map { .seconds(min(Int64($0), 3600)) }
    }
}
