import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct RegistrationTests {
    private let device = DeviceID.test(1)

    private func json(_ revision: UInt64, _ registrations: [LinkRegistration]) -> String {
        let set = LinkRegistrations(revision: revision, registrations: registrations)
        return String(decoding: UplinkMessage.registrations(set).json, as: UTF8.self)
    }

    private func register(
        _ gateway: inout TestGateway, on link: LinkID, _ revision: UInt64, _ registrations: [LinkRegistration]
    ) -> [LinkGatewayEffect] {
        gateway.publish(json(revision, registrations), on: link, of: device)
    }

    @Test("The whole set replaces the former one, and is acknowledged when it is stored")
    func wholeSet() {
        var gateway = TestGateway()
        let link = gateway.link()
        let set = [LinkRegistration.test(device, slot: .second), .test(device, slot: .third)]
        let effects = register(&gateway, on: link, 2, set)
        #expect(effects.puback == nil)
        #expect(gateway.store(effects).puback?.reason == .success)
        let record = gateway.machine.directory[device]
        #expect(record?.registrations == set && record?.revision == 2)
        #expect(record?.ended.map(\.token) == [device.testToken(1)])
        #expect(
            gateway.machine.directory.owner(ofTokenHash: device.testToken(1)) == .ended(device, at: TestGateway.wall))
        #expect(gateway.machine.directory.owner(ofTokenHash: device.testToken(3)) == .registered(device, set[1]))
        #expect(gateway.push(slot: .first).answers == [1: .refused(.unregistered)])
    }

    @Test("A set that could not be stored is refused with 0x83, and may come again with the same revision")
    func storeFails() {
        var gateway = TestGateway()
        let link = gateway.link()
        let set = [LinkRegistration.test(device, slot: .third)]
        let failed = gateway.store(register(&gateway, on: link, 2, set), isDurable: false)
        #expect(failed.puback?.reason == .implementationSpecificError)
        #expect(gateway.store(register(&gateway, on: link, 2, set)).puback?.reason == .success)
    }

    enum BadSet: CaseIterable {
        case otherDevice, older, ended, tooMany, twice, sameToken, badToken, noTopics, manyTopics, largeRevision
    }

    @Test("A set that breaks a rule is refused as a whole, and nothing changes", arguments: BadSet.allCases)
    func badSet(_ bad: BadSet) {
        var gateway = TestGateway([device, .test(2)])
        let link = gateway.link()
        let good = LinkRegistration.test(device, slot: .first)
        let expected: MQTTReason
        var revision: UInt64 = 2
        let set: [LinkRegistration]
        switch bad {
        case .otherDevice:
            set = [good, copy(good, token: DeviceID.test(2).testToken(1), slot: .third)]
            expected = .notAuthorized
        case .older:
            revision = 0
            set = [good]
            expected = .payloadFormatInvalid
        case .ended:
            gateway.store(register(&gateway, on: link, 2, [good]))
            revision = 3
            set = [good, .test(device, slot: .third, token: 2)]
            expected = .payloadFormatInvalid
        case .tooMany:
            set = (1...201).map { .test(device, slot: LinkSlot(rawValue: $0)) }
            expected = .quotaExceeded
        case .twice:
            set = [good, copy(good, token: device.testToken(9), slot: .first)]
            expected = .payloadFormatInvalid
        case .sameToken:
            set = [good, copy(good, token: good.token, slot: .third)]
            expected = .payloadFormatInvalid
        case .badToken:
            set = [copy(good, token: good.token.uppercased() + "A", slot: .first)]
            expected = .payloadFormatInvalid
        case .noTopics:
            set = [copy(good, token: good.token, slot: .first, topics: [])]
            expected = .payloadFormatInvalid
        case .manyTopics:
            set = [copy(good, token: good.token, slot: .first, topics: (0..<9).map { Topic("t\($0)") })]
            expected = .payloadFormatInvalid
        case .largeRevision:
            revision = .max
            set = [good]
            expected = .payloadFormatInvalid
        }
        let before = gateway.machine.directory[device]
        let effects = register(&gateway, on: link, revision, set)
        #expect(effects.puback?.reason == expected && effects.puback?.reasonString?.isEmpty == false)
        #expect(effects.changes.isEmpty && effects.closed.isEmpty)
        #expect(gateway.machine.directory[device] == before)
    }

    @Test("A topic that no team may send to costs nothing else, and is named")
    func namedTopic() {
        var gateway = TestGateway()
        gateway.isServed = { $0 != .alert }
        let link = gateway.link()
        let puback = gateway.store(register(&gateway, on: link, 2, [.test(device, slot: .first)])).puback
        #expect(puback?.reason == .success && puback?.reasonString?.contains(Topic.alert.rawValue) == true)
        #expect(gateway.machine.directory[device]?.registrations.count == 1)
    }

    @Test("The same set with the same revision changes nothing")
    func equalRevision() {
        var gateway = TestGateway()
        let link = gateway.link()
        gateway.commit(gateway.push(slot: .first, bytes: 10))
        let before = gateway.machine.directory[device]
        let effects = register(&gateway, on: link, 1, before?.registrations ?? [])
        #expect(gateway.store(effects).puback?.reason == .success && effects.drops.isEmpty)
        #expect(gateway.machine.directory[device] == before && gateway.machine.mailCount == 1)
    }

    @Test(
        "Other registrations at the same revision are a disagreement: the gateway raises its own",
        arguments: [
            (["tokens": LinkRegistration.mark(of: [])], 2), (["slots": "1"], 2), (["slots": "2"], 1), ([:], 1),
            (
                [
                    "tokens": LinkRegistration.mark(of: DeviceRecord.test(.test(1)).registrations.reversed()),
                    "slots": "9",
                ], 1
            ),
        ] as [([String: String], UInt64)])
    func otherSet(properties: [String: String], revision: UInt64) {
        var gateway = TestGateway()
        let link = gateway.open()
        let effects = gateway.connect(device, on: link, properties.merging(["revision": "1"]) { first, _ in first })
        #expect(gateway.machine.directory[device]?.revision == revision)
        let isStored = effects.contains(.store(device, .administrative(device)))
        #expect(isStored == (revision == 2))
        for case .send(_, .connack(let packet)) in effects {
            #expect(packet.userProperties.first { $0.name == "revision" }?.value == "\(revision)")
        }
        // Said again, it is the same disagreement.
        gateway.connect(device, on: gateway.open(), properties.merging(["revision": "1"]) { first, _ in first })
        #expect(gateway.machine.directory[device]?.revision == revision)
    }

    @Test("Pushes of a registration that leaves are removed, also if its slot gets another token")
    func mailLeaves() {
        var gateway = TestGateway()
        gateway.commit(gateway.push(slot: .first))
        gateway.commit(gateway.push(slot: .second))
        let link = gateway.link()
        let set = [LinkRegistration.test(device, slot: .first, token: 50), .test(device, slot: .second)]
        let effects = register(&gateway, on: link, 2, set)
        #expect(effects.drops == [.unregistered] && effects.removed.map(\.sequence) == [1])
        #expect(gateway.machine.mailbox(of: device)?.pushes.map(\.slot) == [.second])
    }

    @Test("A sender whose push is held is answered when the registration leaves")
    func heldLeaves() {
        var gateway = TestGateway()
        let link = gateway.link()
        let sent = gateway.push(slot: .first)
        let effects = register(&gateway, on: link, 2, [.test(device, slot: .second)])
        #expect(effects.answers == [1: .refused(.unregistered)])
        #expect(gateway.acknowledge(sent.publish, on: link).answers.isEmpty)
        #expect(gateway.machine.mailCount == 0)
    }

    @Test("Registrations that an administrator ends raise the revision, so that the device learns of it")
    func administrator() {
        var gateway = TestGateway()
        let effects = gateway.handle(.unregister(device, [.first, .third]))
        #expect(effects.changes == [.administrative(device)])
        #expect(gateway.machine.directory[device]?.revision == 2)
        #expect(gateway.handle(.unregister(device, [.first])).isEmpty)
        let connected = gateway.connect(device, on: gateway.open(), ["revision": "1"])
        #expect(connected.hasDivergence)
    }

    @Test("A device of another store is a divergence, and its revision counts for nothing")
    func otherEpoch() {
        var gateway = TestGateway()
        let link = gateway.open()
        let effects = gateway.connect(device, on: link, ["revision": "1", "epoch": "store-0"])
        #expect(effects.hasDivergence)
        gateway.subscribe(device, on: link)
        let refused = gateway.acknowledge(gateway.push().publish, on: link, .topicNameInvalid)
        #expect(refused.hasDivergence && gateway.machine.directory[device]?.registrations.count == 2)
    }

    @Test("A device without a revision leaves the registrations untouched")
    func noRevision() {
        var gateway = TestGateway()
        let before = gateway.machine.directory[device]
        #expect(!gateway.connect(device, on: gateway.open()).hasDivergence)
        #expect(gateway.machine.directory[device] == before)
    }

    @Test("A device that leaves is acknowledged, and its tokens end")
    func unpair() {
        var gateway = TestGateway()
        let link = gateway.link()
        let effects = gateway.publish(#"{"op":"unpair"}"#, on: link, of: device)
        let stored = gateway.store(effects)
        #expect(stored.puback?.reason == .success && stored.closed == [link])
        #expect(
            gateway.machine.directory.owner(ofTokenHash: device.testToken(1)) == .ended(device, at: TestGateway.wall))
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .notAuthorized)
    }

    @Test("A record survives its row, and ended tokens are bounded")
    func record() throws {
        var directory = DeviceDirectory()
        directory.put(.test(device))
        for revision in 2...700 as ClosedRange<UInt64> {
            let set = (0..<2).map { index -> LinkRegistration in
                let number = Int(revision) * 2 + index
                return .test(device, slot: LinkSlot(rawValue: UInt32(number)), token: number)
            }
            directory.put(
                try directory.record(
                    of: device, after: LinkRegistrations(revision: revision, registrations: set),
                    at: Int64(revision)))
        }
        let record = try #require(directory[device])
        #expect(record.ended.count == 1000 && record.ended.last?.at == 700)
        #expect(directory.owner(ofTokenHash: device.testToken(1)) == nil)
        #expect(directory.owner(ofTokenHash: device.testToken(1398)) == .ended(device, at: 700))
        let row = try record.encoded()
        #expect(try DeviceRecord(id: device, version: 1, data: row) == record)
        #expect(throws: RingwakeError.self) { try DeviceRecord(id: .test(2), version: 1, data: row) }
        #expect(throws: RingwakeError.self) { try DeviceRecord(id: device, version: 2, data: row) }
        #expect(throws: RingwakeError.self) { try DeviceRecord(id: device, version: 1, data: [0x7B]) }
    }

    @Test("A token that damaged rows give to two devices stays with the one that keeps it")
    func damagedRows() {
        var directory = DeviceDirectory()
        var other = DeviceRecord.test(.test(2))
        other.registrations = [.test(device, slot: .first)]
        directory.put(.test(device))
        directory.put(other)
        directory.remove(device)
        #expect(directory.owner(ofTokenHash: device.testToken(1)) == .registered(.test(2), other.registrations[0]))
    }

    private func copy(
        _ registration: LinkRegistration, token: String, slot: LinkSlot, topics: [Topic]? = nil
    ) -> LinkRegistration {
        LinkRegistration(
            slot: slot, app: registration.app, topics: topics ?? registration.topics,
            environment: registration.environment, token: token)
    }
}
