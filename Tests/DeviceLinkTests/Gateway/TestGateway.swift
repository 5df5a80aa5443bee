import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// A gateway machine that is driven by hand. Time moves only when told.
struct TestGateway {
    static let run: UInt64 = 0x1122_3344_5566_7788
    static let epoch = "store-1"
    static let wall: Int64 = 1_800_000_000_000
    static let key = [UInt8](repeating: 4, count: 91)

    var machine: LinkGatewayStateMachine
    var now = BootInstant.at(.seconds(10_000))
    var isOpen = false
    var isServed: (Topic) -> Bool = { _ in true }
    var isSigned = true
    var isKey = true
    var hasRoom = true
    var timing = LinkTiming(keepAlive: 0)
    /// What a probe tries; nil: none is due.
    var tried: UInt16?
    private var lastLink: UInt64 = 0
    private var lastTicket: UInt64 = 0

    /// - Parameter devices: have two registrations each, at revision 1.
    init(
        _ devices: [DeviceID] = [.test(1)], run: UInt64 = TestGateway.run, limits: LinkLimits = LinkLimits(),
        mail: [(device: DeviceID, push: LinkPush, payloadBytes: Int)] = []
    ) {
        machine = LinkGatewayStateMachine(run: run, epoch: Self.epoch, limits: limits)
        machine.restore(devices.map(DeviceRecord.test), mail: mail)
    }

    @discardableResult
    mutating func handle(_ event: LinkGatewayEvent) -> [LinkGatewayEffect] {
        let (isServed, isSigned, isKey, hasRoom) = (isServed, isSigned, isKey, hasRoom)
        let (timing, tried) = (timing, tried)
        var host = LinkGatewayHost(
            wall: { Self.wall }, isServed: isServed, isSigned: { _, _, _ in isSigned }, isKey: { _ in isKey },
            isOpen: isOpen)
        host.hasRoom = { _ in hasRoom }
        host.accepted = { _, _ in (timing, tried) }
        return machine.handle(event, at: now, asking: host)
    }

    /// Moves time, and lets what is due happen.
    @discardableResult
    mutating func wait(_ time: Duration) -> [LinkGatewayEffect] {
        now = now.advanced(by: time)
        guard let deadline = machine.nextDeadline, deadline <= now else { return [] }
        return handle(.deadlineReached)
    }

    // MARK: - Connections

    mutating func open(network: String = "192.0.2.0/24") -> LinkID {
        lastLink += 1
        let id = LinkID(rawValue: lastLink)
        handle(.opened(id, network: network))
        return id
    }

    @discardableResult
    mutating func receive(_ packet: MQTTPacket, on link: LinkID, of device: DeviceID) -> [LinkGatewayEffect] {
        handle(.received(link, packet, .key(device, Self.key)))
    }

    @discardableResult
    mutating func connect(
        _ device: DeviceID, on link: LinkID, _ properties: [String: String] = [:],
        _ change: (inout MQTTConnect) -> Void = { _ in }
    ) -> [LinkGatewayEffect] {
        receive(.connect(.test(device, properties, change)), on: link, of: device)
    }

    @discardableResult
    mutating func subscribe(_ device: DeviceID, on link: LinkID) -> [LinkGatewayEffect] {
        let filter = MQTTSubscribe.Filter(LinkTopic.down(device))
        return receive(.subscribe(MQTTSubscribe(packetID: 1, filters: [filter])), on: link, of: device)
    }

    /// A link that is subscribed, with the effects of the subscription.
    mutating func linkWithEffects(
        _ device: DeviceID = .test(1), revision: UInt64? = 1, receiveMaximum: UInt16 = 16
    ) -> (LinkID, [LinkGatewayEffect]) {
        let link = open()
        var properties = ["version": "1"]
        properties["revision"] = revision.map(String.init)
        connect(device, on: link, properties) { $0.receiveMaximum = receiveMaximum }
        return (link, subscribe(device, on: link))
    }

    mutating func link(
        _ device: DeviceID = .test(1), revision: UInt64? = 1, receiveMaximum: UInt16 = 16
    ) -> LinkID {
        linkWithEffects(device, revision: revision, receiveMaximum: receiveMaximum).0
    }

    @discardableResult
    mutating func acknowledge(
        _ packet: MQTTPublish?, on link: LinkID, of device: DeviceID = .test(1), _ reason: MQTTReason = .success
    ) -> [LinkGatewayEffect] {
        guard let id = packet?.packetID else {
            Issue.record("there is no packet to acknowledge")
            return []
        }
        return receive(.puback(MQTTPuback(packetID: id, reason: reason)), on: link, of: device)
    }

    @discardableResult
    mutating func publish(
        _ json: String, on link: LinkID, of device: DeviceID, packetID: UInt16 = 7
    ) -> [LinkGatewayEffect] {
        let packet = MQTTPublish(topic: LinkTopic.up(device), packetID: packetID, payload: Array(json.utf8))
        return receive(.publish(packet), on: link, of: device)
    }

    // MARK: - Pushes

    /// Sends a push. The ticket is the number of the push so far.
    @discardableResult
    mutating func push(
        to device: DeviceID = .test(1), slot: LinkSlot = .first, id: String? = nil, isVoIP: Bool = true,
        priority: PushPriority = .immediate, expiration: VerifiedPush.Expiration? = nil, collapse: String? = nil,
        bytes: Int = 100
    ) -> [LinkGatewayEffect] {
        lastTicket += 1
        let push = VerifiedPush.test(
            id: id ?? "push-\(lastTicket)", isVoIP: isVoIP, priority: priority, expiration: expiration,
            collapse: collapse, payload: [UInt8](repeating: UInt8(truncatingIfNeeded: lastTicket), count: bytes),
            at: now)
        return handle(.push(push, device, slot, PushTicket(rawValue: lastTicket)))
    }

    /// Reports the result of each append among the effects.
    @discardableResult
    mutating func commit(_ effects: [LinkGatewayEffect], isDurable: Bool = true) -> [LinkGatewayEffect] {
        effects.appends.flatMap { handle(.committed($0.device, $0.push.key, isDurable: isDurable)) }
    }

    /// Reports what each read among the effects finds.
    @discardableResult
    mutating func read(_ effects: [LinkGatewayEffect], found: Bool = true) -> [LinkGatewayEffect] {
        effects.reads.flatMap { device, keys in
            let payload = Mailbox.StoredPayload(content: .plain, bytes: Array("{\"read\":true}".utf8))
            let rows = found ? Dictionary(uniqueKeysWithValues: keys.map { ($0, payload) }) : [:]
            return handle(.read(device, keys, rows))
        }
    }

    /// Reports the result of each record that is stored.
    @discardableResult
    mutating func store(_ effects: [LinkGatewayEffect], isDurable: Bool = true) -> [LinkGatewayEffect] {
        effects.changes.flatMap { handle(.stored($0, isDurable: isDurable)) }
    }
}

extension DeviceID {
    /// One of 26 devices.
    static func test(_ number: Int) -> DeviceID {
        let letter = "abcdefghijklmnopqrstuvwxyz".dropFirst(number % 26).prefix(1)
        guard let id = DeviceID(String(repeating: String(letter), count: 51) + "a") else {
            // The letters are those that an id may have.
            fatalError("a test's device id is wrong")
        }
        return id
    }

    /// The SHA-256 of one of its tokens, in hex.
    func testToken(_ number: Int) -> String {
        let digits = utf8Prefix + String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.utf8.count) + digits
    }

    private var utf8Prefix: String { String(rawValue.utf8.first ?? 0, radix: 16) }
}

extension LinkSlot {
    static let first = LinkSlot(rawValue: 1)
    static let second = LinkSlot(rawValue: 2)
    static let third = LinkSlot(rawValue: 3)
}

extension AppID {
    static var test: AppID {
        guard let app = AppID("org.example.call") else {
            // The literal is an app id.
            fatalError("a test's app id is wrong")
        }
        return app
    }
}

extension LinkRegistration {
    static func test(_ device: DeviceID, slot: LinkSlot, token: Int? = nil) -> LinkRegistration {
        LinkRegistration(
            slot: slot, app: .test, topics: [.voip, .alert], environment: .production,
            token: device.testToken(token ?? Int(slot.rawValue)))
    }
}

extension Topic {
    static let voip = Topic("org.example.call.voip")
    static let alert = Topic("org.example.call")
}

extension DeviceRecord {
    static func test(_ device: DeviceID) -> DeviceRecord {
        var record = DeviceRecord(id: device, name: "test", pairedAt: 0, sealing: nil)
        record.registrations = [.test(device, slot: .first), .test(device, slot: .second)]
        record.revision = 1
        return record
    }
}

extension VerifiedPush {
    static func test(
        id: String, isVoIP: Bool = true, priority: PushPriority = .immediate,
        expiration: VerifiedPush.Expiration? = nil, collapse: String? = nil, payload: [UInt8], at now: BootInstant
    ) -> VerifiedPush {
        VerifiedPush(
            pushID: id, app: .test,
            provenance: Provenance(sender: "TEAM000001", door: .apns(.production, isVoIP ? .voip : .alert)),
            priority: priority, expiration: expiration, collapseID: collapse, payload: payload, receivedAt: now,
            verifiedAt: now)
    }
}

extension LinkPush {
    /// A row that an earlier run left, without its payload.
    static func row(
        _ sequence: UInt64, slot: LinkSlot = .first, run: UInt64 = 0xAA, expires: Int64? = nil,
        arrivedBoot: Int64 = 9_000_000, collapse: String? = nil
    ) -> LinkPush {
        LinkPush(
            key: MailKey(run: run, sequence: sequence), pushID: "row-\(sequence)", slot: slot,
            arrivedWall: TestGateway.wall, arrivedBoot: arrivedBoot, expires: expires, priority: .immediate,
            type: "voip", topic: .voip, environment: .production, sender: "TEAM000001", collapseID: collapse,
            payload: [])
    }
}

extension MQTTConnect {
    static func test(
        _ device: DeviceID, _ properties: [String: String] = [:], _ change: (inout MQTTConnect) -> Void = { _ in }
    ) -> MQTTConnect {
        var packet = MQTTConnect(clientID: device.rawValue)
        packet.userProperties = properties.map { MQTTUserProperty($0.key, $0.value) }
        change(&packet)
        return packet
    }
}

extension [LinkGatewayEffect] {
    var packets: [MQTTPacket] { compactMap { if case .send(_, let packet) = $0 { packet } else { nil } } }
    func packets(to link: LinkID) -> [MQTTPacket] {
        compactMap { if case .send(link, let packet) = $0 { packet } else { nil } }
    }
    var publishes: [MQTTPublish] { packets.compactMap { if case .publish(let packet) = $0 { packet } else { nil } } }
    var publish: MQTTPublish? { publishes.first }
    /// The pushes that were sent.
    var pushes: [LinkPush] { publishes.compactMap(LinkPush.init) }
    var pushIDs: [String] { pushes.map(\.pushID) }
    var connack: MQTTConnack? {
        packets.lazy.compactMap { if case .connack(let packet) = $0 { packet } else { nil } }.first
    }
    var suback: MQTTSuback? {
        packets.lazy.compactMap { if case .suback(let packet) = $0 { packet } else { nil } }.first
    }
    var puback: MQTTPuback? {
        packets.lazy.compactMap { if case .puback(let packet) = $0 { packet } else { nil } }.first
    }
    var disconnect: MQTTDisconnect? {
        packets.lazy.compactMap { if case .disconnect(let packet) = $0 { packet } else { nil } }.first
    }
    var closed: [LinkID] { compactMap { if case .close(let link, _) = $0 { link } else { nil } } }
    var answers: [UInt64: Mailbox.Answer] {
        reduce(into: [:]) { if case .answer(let ticket, let answer) = $1 { $0[ticket.rawValue] = answer } }
    }
    var appends: [(device: DeviceID, push: LinkPush, replaced: [MailKey])] {
        compactMap { if case .append(let device, let push, let keys) = $0 { (device, push, keys) } else { nil } }
    }
    var removed: [MailKey] { flatMap { if case .remove(_, let keys) = $0 { keys } else { [] as [MailKey] } } }
    var reads: [(DeviceID, [MailKey])] {
        compactMap { if case .read(let device, let keys) = $0 { (device, keys) } else { nil } }
    }
    var changes: [DeviceChange] { compactMap { if case .store(_, let change) = $0 { change } else { nil } } }
    var notes: [LinkNote] { compactMap { if case .note(let note) = $0 { note } else { nil } } }
    var drops: [Mailbox.Drop] { notes.compactMap { if case .dropped(_, _, let why) = $0 { why } else { nil } } }
    var hasDivergence: Bool { notes.contains { if case .divergence = $0 { true } else { false } } }
}

extension LinkGatewayStateMachine {
    func isOnline(_ device: DeviceID) -> Bool { link(of: device) != nil }
}
