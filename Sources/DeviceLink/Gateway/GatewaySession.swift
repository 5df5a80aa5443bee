package import MQTT5
package import RingwakeCore

/// One connection of a device, on the gateway's side. It keeps the device to the wire (`Documentation/link.md`) and knows
/// nothing of devices, mailboxes or other connections.
///
/// ```
/// new --CONNECT--> (the owner decides) --accept--> linked --SUBSCRIBE--> linked, subscribed
///                                      --accept--> pairing --PUBLISH--> pairing, decided
///                                      --accept--> probing
/// any --error, refuse, end, DISCONNECT, deadline--> ended
/// ```
/// | state | what holds |
/// |---|---|
/// | new | nothing was received; ends at its deadline |
/// | linked | the key is the device's; pushes go out only once it has subscribed |
/// | pairing | one PUBLISH, then the owner ends it; ends at its deadline |
/// | probing | nothing is subscribed or published |
/// | ended | nothing is sent any more; a late acknowledgement still counts |
package struct GatewaySession: Sendable {
    /// What the owner has to do, in this order.
    package enum Output: Hashable, Sendable {
        case send(MQTTPacket)
        /// A device introduces itself: answer with ``accept(_:_:at:)`` or ``refuse(_:)``.
        case hello(LinkHello)
        /// Pushes may be sent.
        case subscribed
        /// The device has settled a push.
        case acknowledged(MailKey, MQTTReason)
        /// The device has published on its topic: answer with ``acknowledge(_:_:text:)``.
        case published(packetID: UInt16, [UInt8])
        /// A probe was silent for as long as it had to be, and lives.
        case survived
        /// Send what is to be sent, and close. With the cause, for the log.
        case end(String)
    }

    /// How long a connection may take until its CONNECT is there, whole.
    package static let helloTime: Duration = .seconds(5)
    /// How long a pairing may take.
    package static let pairingTime: Duration = .seconds(10)
    /// A kernel needs this long at most to report that a connection is dead.
    private static let reportTime: Duration = .seconds(5)

    private enum State: Sendable {
        case new(deadline: BootInstant)
        case linked(Linked)
        case pairing(LinkHello, deadline: BootInstant, hasPublished: Bool)
        /// Without a deadline it has survived, and is about to end.
        case probing(LinkHello, deadline: BootInstant?)
        case ended
    }

    private struct Linked: Sendable {
        let hello: LinkHello
        var isSubscribed = false
        /// Nothing was received since.
        var silentSince: BootInstant

        /// How long the device may be silent (section 3.1.2.10); nil: for ever.
        var silence: Duration? {
            let seconds = LinkWelcome.serverKeepAlive(of: hello)
            return seconds == 0 ? nil : .milliseconds(Int64(seconds) * 1500)
        }
    }

    private var state: State
    /// Pushes that are on their way, by their packet id.
    private var inFlight: [UInt16: MailKey] = [:]
    private var lastPacketID: UInt16 = 0
    /// PUBLISHes of the device that are not acknowledged.
    private var unanswered: Set<UInt16> = []
    /// Of everything but acknowledgements, of which there are as many as pushes.
    private var rate = RateBucket(burst: 100, interval: .milliseconds(100))

    package init(at now: BootInstant) {
        state = .new(deadline: now.advanced(by: Self.helloTime))
    }

    /// What the device said in CONNECT, once it was accepted.
    package var hello: LinkHello? {
        switch state {
        case .linked(let linked): linked.hello
        case .pairing(let hello, _, _), .probing(let hello, _): hello
        case .new, .ended: nil
        }
    }

    /// When ``deadlineReached(at:)`` has to be called.
    package var deadline: BootInstant? {
        switch state {
        case .new(let deadline), .pairing(_, let deadline, _): deadline
        case .probing(_, let deadline): deadline
        case .linked(let linked): linked.silence.map { linked.silentSince.advanced(by: $0) }
        case .ended: nil
        }
    }

    package var isEnded: Bool { if case .ended = state { true } else { false } }

    /// The pushes that are on their way, in no order.
    package var keysInFlight: some Collection<MailKey> { inFlight.values }

    /// How many pushes can be sent now.
    package var room: Int {
        guard case .linked(let linked) = state, linked.isSubscribed else { return 0 }
        return max(0, min(Int(linked.hello.receiveMaximum), LinkLimits.maximumInFlight) - inFlight.count)
    }

    /// Handles a packet of the device.
    package mutating func receive(_ packet: MQTTPacket, proof: LinkProof, at now: BootInstant) -> [Output] {
        if !packet.isPuback {
            guard rate.allows(at: now) else { return end(.messageRateTooHigh, "more than 10 packets each second") }
            rate.take(at: now)
        }
        switch state {
        case .new:
            guard case .connect(let connect) = packet else {
                state = .ended
                return [.end("the first packet is not CONNECT")]
            }
            do throws(LinkHello.Refusal) {
                return [.hello(try LinkHello(connect, proof: proof))]
            } catch {
                return refuse(error)
            }
        case .linked(var linked):
            linked.silentSince = now
            state = .linked(linked)
            return receive(packet, linked)
        case .pairing(let hello, let deadline, let hasPublished):
            guard case .publish(let publish) = packet else { return other(packet, hello) }
            guard !hasPublished else { return end(.receiveMaximumExceeded, "a pairing device publishes once") }
            guard packet.encoded().count <= LinkLimits.pairingPacketBytes else {
                return end(.packetTooLarge, "a pairing device sends \(LinkLimits.pairingPacketBytes) bytes at most")
            }
            state = .pairing(hello, deadline: deadline, hasPublished: true)
            return published(publish, hello)
        case .probing(let hello, _):
            // Otherwise it shows nothing: what it sends keeps the way open.
            guard case .disconnect = packet else { return end(.notAuthorized, "a probe is silent") }
            return other(packet, hello)
        case .ended:
            guard case .puback(let ack) = packet, let key = inFlight.removeValue(forKey: ack.packetID) else {
                return []
            }
            return [.acknowledged(key, ack.reason)]
        }
    }

    /// The bytes are no packet.
    package mutating func fail(_ reason: MQTTReason, _ text: String) -> [Output] {
        guard case .new = state else { return end(reason, text) }
        // Before CONNECT nothing may be sent but CONNACK (section 3.2), and only to what looks like MQTT.
        guard reason == .unsupportedProtocolVersion || reason == .packetTooLarge else {
            state = .ended
            return [.end(text)]
        }
        return refuse(.init(reason, text))
    }

    /// Ends a connection that met its deadline.
    package mutating func deadlineReached(at now: BootInstant) -> [Output] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .new:
            state = .ended
            return [.end("no CONNECT came in time")]
        case .linked: return end(.keepAliveTimeout, "nothing came for one and a half times its keep-alive")
        case .pairing: return end(.notAuthorized, "the pairing took too long")
        case .probing(let hello, _):
            state = .probing(hello, deadline: nil)
            return [.survived]
        case .ended: return []
        }
    }

    /// Accepts the device whose hello came last.
    ///
    /// - Parameter tried: for how many seconds a probe has to be silent; nil: it is not needed, and ends.
    package mutating func accept(
        _ hello: LinkHello, _ welcome: LinkWelcome, tried: UInt16? = nil, at now: BootInstant
    ) -> [Output] {
        var welcome = welcome
        switch hello.purpose {
        case .link: state = .linked(Linked(hello: hello, silentSince: now))
        case .pair: state = .pairing(hello, deadline: now.advanced(by: Self.pairingTime), hasPublished: false)
        case .probe:
            guard let tried else {
                state = .probing(hello, deadline: nil)
                let packet = welcome.packet(for: hello)
                return [.send(.connack(packet))] + end(.success, "no probe is due", timing: welcome.timing)
            }
            welcome.timing.keepAlive = tried
            let silence = Duration.seconds(Int64(tried))
            // The kernel's keep-alive follows on the silence, and until its last repetition the outcome is open.
            let time = silence + KeepaliveRules.patience(of: silence) + Self.reportTime
            state = .probing(hello, deadline: now.advanced(by: time))
        }
        return [.send(.connack(welcome.packet(for: hello)))]
    }

    /// Refuses the device whose hello came last.
    package mutating func refuse(_ refusal: LinkHello.Refusal) -> [Output] {
        state = .ended
        var packet = MQTTConnack(refusal.reason)
        packet.reasonString = refusal.text
        packet.serverReference = refusal.serverReference
        packet.userProperties = refusal.retryAfter.map { [MQTTUserProperty("retry-after", $0)] } ?? []
        return [.send(.connack(packet)), .end(refusal.text)]
    }

    /// Sends a push to a device that has ``room``.
    ///
    /// - Parameters:
    ///   - floor: the lowest unsettled push of the device.
    ///   - now: the boot clock, in ms.
    /// - Returns: its packet; nil without room.
    mutating func send(_ push: LinkPush, floor: MailKey?, now: Int64) -> MQTTPacket? {
        guard case .linked(let linked) = state, room > 0 else { return nil }
        repeat { lastPacketID &+= 1 } while lastPacketID == 0 || inFlight[lastPacketID] != nil
        let packet = push.packet(to: linked.hello.device, packetID: lastPacketID, floor: floor, now: now)
        inFlight[lastPacketID] = push.key
        return .publish(packet)
    }

    /// Answers a device that compares registrations. Nothing is repeated, so it has QoS 0.
    func send(_ registrations: GatewayRegistrations) -> [Output] {
        guard case .linked(let linked) = state else { return [] }
        var packet = MQTTPublish(
            topic: LinkTopic.down(linked.hello.device), packetID: nil, payload: registrations.json())
        packet.qos = 0
        packet.contentType = GatewayRegistrations.contentType
        return [.send(.publish(packet))]
    }

    /// Answers what the device published.
    package mutating func acknowledge(_ packetID: UInt16, _ reason: MQTTReason, text: String? = nil) -> [Output] {
        guard unanswered.remove(packetID) != nil, let hello else { return [] }
        return [
            .send(
                .puback(MQTTPuback(packetID: packetID, reason: reason, reasonString: hello.takesReasons ? text : nil)))
        ]
    }

    /// Ends the connection with a reason for the device.
    package mutating func end(
        _ reason: MQTTReason, _ text: String, retryAfter: Duration? = nil, serverReference: String? = nil,
        timing: LinkTiming? = nil
    ) -> [Output] {
        switch state {
        case .ended: return []
        case .new:
            state = .ended
            return [.end(text)]
        case .linked, .pairing, .probing:
            state = .ended
            var packet = MQTTDisconnect(reason, reasonString: text)
            packet.serverReference = serverReference
            packet.userProperties = retryAfter.map { [MQTTUserProperty("retry-after", $0)] } ?? []
            packet.userProperties += timing?.userProperties ?? []
            return [.send(.disconnect(packet)), .end(text)]
        }
    }

    // MARK: - Packets of a linked device

    private mutating func receive(_ packet: MQTTPacket, _ linked: Linked) -> [Output] {
        switch packet {
        case .subscribe(let subscribe): return subscribed(subscribe, linked)
        case .publish(let publish): return published(publish, linked.hello)
        case .puback(let ack):
            guard let key = inFlight.removeValue(forKey: ack.packetID) else {
                return end(.protocolError, "PUBACK for a packet id that is not in use")
            }
            return [.acknowledged(key, ack.reason)]
        default: return other(packet, linked.hello)
        }
    }

    private mutating func subscribed(_ packet: MQTTSubscribe, _ linked: Linked) -> [Output] {
        if packet.subscriptionIdentifier != nil {
            return end(.subscriptionIdentifiersNotSupported, "subscription identifiers are not supported")
        }
        let topic = LinkTopic.down(linked.hello.device)
        var isGranted = false
        var text: String?
        let reasons = packet.filters.map { filter -> MQTTReason in
            if filter.filter.hasPrefix("$share/") { return .sharedSubscriptionsNotSupported }
            if filter.filter.utf8.contains(where: { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "+") }) {
                return .wildcardSubscriptionsNotSupported
            }
            guard filter.filter == topic else {
                text = "the only topic is \(topic)"
                return .notAuthorized
            }
            guard filter.maximumQoS > 0 else {
                text = "subscribe with QoS 1"
                return .implementationSpecificError
            }
            isGranted = true
            return .grantedQoS1
        }
        let answer = Output.send(
            .suback(
                MQTTSuback(
                    packetID: packet.packetID, reasons: reasons,
                    reasonString: linked.hello.takesReasons ? text : nil)))
        guard isGranted, !linked.isSubscribed else { return [answer] }
        var changed = linked
        changed.isSubscribed = true
        state = .linked(changed)
        return [answer, .subscribed]
    }

    private mutating func published(_ packet: MQTTPublish, _ hello: LinkHello) -> [Output] {
        if packet.qos == 2 { return end(.qosNotSupported, "QoS 2 is not supported") }
        if packet.isRetained { return end(.retainNotSupported, "retained messages are not supported") }
        guard packet.subscriptionIdentifiers.isEmpty else {
            return end(.protocolError, "only servers send subscription identifiers in PUBLISH")
        }
        if packet.topicAlias != nil { return end(.topicAliasInvalid, "topic aliases are not supported") }
        guard packet.qos == 1, let packetID = packet.packetID else {
            return end(.protocolError, "publish with QoS 1")
        }
        guard unanswered.count < Int(LinkLimits.receiveMaximum) else {
            return end(.receiveMaximumExceeded, "more is published than is acknowledged")
        }
        guard unanswered.insert(packetID).inserted else {
            return end(.protocolError, "PUBLISH with a packet id that is in use")
        }
        guard packet.topic == LinkTopic.up(hello.device) else {
            return acknowledge(packetID, .notAuthorized, text: "the only topic is \(LinkTopic.up(hello.device))")
        }
        return [.published(packetID: packetID, packet.payload)]
    }

    /// What every accepted device may send.
    private mutating func other(_ packet: MQTTPacket, _ hello: LinkHello) -> [Output] {
        switch packet {
        case .pingreq: return [.send(.pingresp)]
        case .disconnect(let packet):
            state = .ended
            let text = packet.reasonString.map { ": \(shortText($0, bytes: 100))" } ?? ""
            return [.end("the device left with reason \(packet.reason.rawValue)\(text)")]
        case .unsubscribe(let packet):
            if case .linked(var linked) = state {
                linked.isSubscribed = linked.isSubscribed && !packet.filters.contains(LinkTopic.down(hello.device))
                state = .linked(linked)
            }
            let reasons = packet.filters.map {
                $0 == LinkTopic.down(hello.device) ? MQTTReason.success : .noSubscriptionExisted
            }
            return [.send(.unsuback(MQTTUnsuback(packetID: packet.packetID, reasons: reasons)))]
        case .subscribe(let packet):
            let refused = [MQTTReason](repeating: .notAuthorized, count: packet.filters.count)
            return [.send(.suback(MQTTSuback(packetID: packet.packetID, reasons: refused)))]
        case .connect: return end(.protocolError, "a second CONNECT")
        case .unsupported(let type): return end(.protocolError, "packet type \(type) is not supported")
        case .connack, .suback, .unsuback, .pingresp: return end(.protocolError, "a packet that only servers send")
        case .publish, .puback: return end(.protocolError, "not on this connection")
        }
    }
}

extension MQTTUserProperty {
    fileprivate init(_ name: String, _ time: Duration) { self.init(name, String(time.components.seconds)) }
}

extension MQTTPacket {
    fileprivate var isPuback: Bool { if case .puback = self { true } else { false } }
}
