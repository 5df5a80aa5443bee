import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// A gateway machine and a device session, connected by bytes in both directions.
@Suite struct LinkPairTests {
    private struct Pair {
        var gateway: TestGateway
        var session: DeviceSession
        let link: LinkID
        var toGateway = MQTTDecoder(maximumPacketBytes: LinkLimits.unprovenPacketBytes)
        var toDevice = MQTTDecoder(maximumPacketBytes: LinkLimits.packetBytes)
        var outputs: [DeviceSession.Output] = []
        var effects: [LinkGatewayEffect] = []
        /// Bytes that are delivered at once.
        var chunk = Int.max

        init(_ gateway: TestGateway, _ device: DeviceID, _ purpose: DeviceSession.Purpose) {
            self.gateway = gateway
            session = DeviceSession(device: device, purpose: purpose)
            link = self.gateway.open()
        }

        mutating func begin(revision: UInt64 = 1) throws {
            let greeting = DeviceSession.Greeting(
                version: "1", revision: revision, registrations: DeviceRecord.test(.test(1)).registrations,
                epoch: TestGateway.epoch, network: nil, receiveMaximum: 8)
            try fromDevice(session.begin(greeting, authentication: nil, at: gateway.now))
        }

        mutating func fromDevice(_ list: [DeviceSession.Output]) throws {
            outputs += list
            for case .send(let packet) in list {
                var rest = packet.encoded()[...]
                while !rest.isEmpty {
                    toGateway.consume(rest.prefix(chunk))
                    rest = rest.dropFirst(chunk)
                    while let packet = try toGateway.next() {
                        #expect(MQTTPacket.isSame(packet, packet.encoded()))
                        try fromGateway(gateway.receive(packet, on: link, of: session.device))
                    }
                }
            }
        }

        mutating func fromGateway(_ list: [LinkGatewayEffect]) throws {
            effects += list
            if list.contains(where: { if case .allow = $0 { true } else { false } }) {
                toGateway.maximumPacketBytes = LinkLimits.packetBytes
            }
            for packet in list.packets(to: link) {
                var rest = packet.encoded()[...]
                while !rest.isEmpty {
                    toDevice.consume(rest.prefix(chunk))
                    rest = rest.dropFirst(chunk)
                    while let packet = try toDevice.next() {
                        try fromDevice(session.receive(packet, at: gateway.now))
                    }
                }
            }
            for change in list.changes { try fromGateway(gateway.handle(.stored(change, isDurable: true))) }
        }

        var pushes: [(UInt16, LinkPush)] {
            outputs.compactMap { if case .push(let id, let push) = $0 { (id, push) } else { nil } }
        }
        var published: [MQTTReason] {
            outputs.compactMap { if case .published(let reason, _) = $0 { reason } else { nil } }
        }
        var end: LinkEnd? { outputs.lazy.compactMap { if case .end(let end) = $0 { end } else { nil } }.first }
    }

    private let device = DeviceID.test(1)

    @Test("A device links, and gets a push as it was sent", arguments: [1, 7, Int.max])
    func push(chunk: Int) throws {
        var pair = Pair(TestGateway(), device, .link)
        pair.chunk = chunk
        try pair.begin()
        #expect(pair.session.isLinked && pair.gateway.machine.isOnline(device))
        try pair.fromGateway(pair.gateway.push(id: "ABC", priority: .low, expiration: .oneAttempt, collapse: "room"))
        let (id, push) = try #require(pair.pushes.first)
        #expect(push.pushID == "ABC" && push.priority == .low && push.expires == 0 && push.collapseID == "room")
        #expect(push.payload == [UInt8](repeating: 1, count: 100) && push.slot == .first && push.isVoIP)
        #expect(push.key == MailKey(run: TestGateway.run, sequence: 1) && push.arrivedBoot == 10_000_000)
        try pair.fromDevice(pair.session.settle(id, .durable))
        #expect(pair.effects.answers == [1: .delivered] && pair.gateway.machine.mailCount == 0)
    }

    @Test("A notice comes without its payload, and says why")
    func notice() throws {
        var gateway = TestGateway()
        gateway.commit(gateway.push(expiration: .oneAttempt))
        var pair = Pair(gateway, device, .link)
        try pair.begin()
        #expect(pair.pushes.map(\.1.notice) == [.oneAttempt] && pair.pushes.first?.1.payload == [])
    }

    @Test("200 registrations with 8 topics fit into one message, and are taken")
    func registrations() throws {
        var pair = Pair(TestGateway(), device, .link)
        try pair.begin()
        let set = LinkRegistrations(
            revision: 5,
            registrations: (1...200).map { .test(device, slot: LinkSlot(rawValue: $0), token: Int($0)) })
        try pair.fromDevice(pair.session.publish(.registrations(set), at: pair.gateway.now))
        #expect(pair.published == [.success])
        #expect(pair.gateway.machine.directory[device]?.registrations == set.registrations)
    }

    @Test("A device pairs with a code, is left, and links then")
    func pairing() throws {
        var gateway = TestGateway([])
        let random = (0..<Invitations.randomBytes).map { UInt8($0) }
        let made = gateway.machine.invitations.make(random: random, at: gateway.now)
        let codes = try #require(made)
        let request = UplinkMessage.PairRequest(code: codes.long, name: "Door", sealing: nil, signature: nil)
        var pair = Pair(gateway, device, .pair(request))
        try pair.begin()
        #expect(pair.published == [.success] && pair.end?.cause == .disconnected(.success))
        var next = Pair(pair.gateway, device, .link)
        try next.begin()
        #expect(next.session.isLinked)
    }

    @Test("A wrong code is refused in words, and the gateway leaves")
    func wrongCode() throws {
        let request = UplinkMessage.PairRequest(code: "AB-1234-5678", name: nil, sealing: nil, signature: nil)
        var pair = Pair(TestGateway([]), device, .pair(request))
        try pair.begin()
        #expect(pair.published == [.notAuthorized] && pair.end?.cause == .disconnected(.success))
    }

    @Test("A probe stays, and the device leaves it")
    func probe() throws {
        var gateway = TestGateway()
        gateway.tried = 300
        var pair = Pair(gateway, device, .probe)
        try pair.begin()
        #expect(!pair.session.isEnded && !pair.gateway.machine.isOnline(device))
        try pair.fromDevice(pair.session.leave())
        #expect(pair.effects.closed == [pair.link])
    }

    @Test("A device that is unknown ends with the gateway's reason")
    func unknown() throws {
        var pair = Pair(TestGateway([]), device, .link)
        try pair.begin()
        #expect(pair.end?.cause == .refused(.notAuthorized) && pair.end?.text?.isEmpty == false)
    }

    @Test("A device that is taken over ends with 0x8E")
    func takenOver() throws {
        var pair = Pair(TestGateway(), device, .link)
        try pair.begin()
        try pair.fromGateway(pair.gateway.connect(device, on: pair.gateway.open()))
        #expect(pair.end?.cause == .disconnected(.sessionTakenOver))
    }
}

extension MQTTPacket {
    /// Whether bytes are this packet.
    fileprivate static func isSame(_ packet: MQTTPacket, _ bytes: [UInt8]) -> Bool {
        var decoder = MQTTDecoder(maximumPacketBytes: LinkLimits.packetBytes)
        decoder.consume(bytes)
        return (try? decoder.next()) == packet
    }
}
