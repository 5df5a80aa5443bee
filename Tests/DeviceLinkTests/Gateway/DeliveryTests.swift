import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// Pushes to a device that is online.
@Suite struct DeliveryTests {
    private let device = DeviceID.test(1)

    @Test("A push that is acknowledged within the hold time is answered, and nothing is written")
    func heldAndAcknowledged() {
        var gateway = TestGateway()
        let link = gateway.link()
        let sent = gateway.push()
        #expect(sent.pushIDs == ["push-1"] && sent.appends.isEmpty && sent.answers.isEmpty)
        #expect(gateway.machine.nextDeadline == gateway.now.advanced(by: .milliseconds(50)))
        let effects = gateway.acknowledge(sent.publish, on: link)
        #expect(effects.answers == [1: .delivered] && effects.removed.isEmpty)
        #expect(gateway.machine.mailCount == 0 && gateway.machine.nextDeadline == nil)
        #expect(gateway.wait(.seconds(1)).isEmpty)
    }

    @Test("When the hold time is over the push is committed, and the commit answers")
    func commitAnswers() {
        var gateway = TestGateway()
        let link = gateway.link()
        let sent = gateway.push()
        #expect(gateway.wait(.milliseconds(49)).isEmpty)
        let due = gateway.wait(.milliseconds(1))
        #expect(due.appends.map(\.push.pushID) == ["push-1"] && due.answers.isEmpty && due.publishes.isEmpty)
        #expect(gateway.commit(due).answers == [1: .queued])
        let effects = gateway.acknowledge(sent.publish, on: link)
        #expect(effects.answers.isEmpty && effects.removed.count == 1 && gateway.machine.mailCount == 0)
    }

    @Test("An acknowledgement before the commit answers, and the row is removed")
    func acknowledgedWhileCommitting() {
        var gateway = TestGateway()
        let link = gateway.link()
        let sent = gateway.push()
        let due = gateway.wait(.milliseconds(50))
        let effects = gateway.acknowledge(sent.publish, on: link)
        #expect(effects.answers == [1: .delivered] && effects.removed == due.appends.map(\.push.key))
        #expect(gateway.commit(due).isEmpty && gateway.machine.mailCount == 0)
    }

    @Test("Without a hold time each push is committed and sent at once")
    func noHoldTime() {
        var limits = LinkLimits()
        limits.holdTime = .zero
        var gateway = TestGateway(limits: limits)
        let link = gateway.link()
        let sent = gateway.push()
        #expect(sent.appends.count == 1 && sent.publishes.count == 1)
        #expect(gateway.acknowledge(sent.publish, on: link).answers == [1: .delivered])
    }

    @Test("A PUBLISH has the payload byte for byte and the properties in their order")
    func packet() throws {
        var gateway = TestGateway()
        _ = gateway.link()
        let expires = gateway.now.advanced(by: .milliseconds(30_900))
        let packet = try #require(gateway.push(expiration: .at(expires), collapse: "room").publish)
        #expect(packet.topic == LinkTopic.down(device) && packet.qos == 1 && !packet.isDuplicate && !packet.isRetained)
        #expect(packet.payload == [UInt8](repeating: 1, count: 100) && packet.isUTF8 == true)
        #expect(packet.contentType == "application/json" && packet.messageExpiryInterval == 30)
        #expect(
            packet.userProperties.map { "\($0.name)=\($0.value)" } == [
                "id=push-1", "run=1122334455667788", "seq=1", "floor=1122334455667788:1", "slot=00000001",
                "at=1800000000000", "arrived=10000000", "exp=1800000030900", "priority=10", "type=voip",
                "topic=org.example.call.voip", "environment=production", "sender=TEAM000001", "collapse=room",
            ])
    }

    @Test("Of a slot one push is on its way; those behind it are committed, and follow in order")
    func orderWithinSlot() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        let second = gateway.push()
        let third = gateway.push(priority: .low)
        #expect(second.appends.count == 1 && second.publishes.isEmpty && third.publishes.isEmpty)
        // Acknowledged before the second is committed: it is sent nevertheless.
        let next = gateway.acknowledge(first.publish, on: link)
        #expect(next.pushIDs == ["push-2"] && next.reads.isEmpty)
        #expect(gateway.commit(second).answers == [2: .queued])
        #expect(gateway.commit(third).answers == [3: .queued])
        let read = gateway.acknowledge(next.publish, on: link)
        #expect(read.reads.count == 1 && read.publishes.isEmpty)
        let last = gateway.read(read)
        #expect(last.pushIDs == ["push-3"] && last.publish?.payload == Array("{\"read\":true}".utf8))
        gateway.acknowledge(last.publish, on: link)
        #expect(gateway.machine.mailCount == 0)
    }

    @Test("A push that was sent before its commit keeps its payload until it is durable")
    func payloadUntilDurable() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        let second = gateway.push()
        #expect(gateway.acknowledge(first.publish, on: link).pushIDs == ["push-2"])
        let (_, offered) = gateway.linkWithEffects()
        #expect(offered.publish?.payload == [UInt8](repeating: 2, count: 100) && offered.reads.isEmpty)
        #expect(gateway.commit(second).answers == [2: .queued])
        // From then on only the disk has it.
        #expect(gateway.linkWithEffects().1.reads.count == 1)
    }

    @Test("Priority orders slots only")
    func priority() {
        var gateway = TestGateway()
        gateway.commit(gateway.push(slot: .first, priority: .low))
        gateway.commit(gateway.push(slot: .first, priority: .immediate))
        gateway.commit(gateway.push(slot: .second, priority: .conserving))
        let (link, effects) = gateway.linkWithEffects(receiveMaximum: 1)
        var ids: [String] = []
        var sent = gateway.read(effects)
        for _ in 0..<3 {
            ids += sent.pushIDs
            sent = gateway.read(gateway.acknowledge(sent.publish, on: link))
        }
        #expect(ids == ["push-3", "push-1", "push-2"])
    }

    @Test("Receive Maximum of the device is honoured; what is beyond it is committed")
    func receiveMaximum() {
        var gateway = TestGateway()
        let link = gateway.link(receiveMaximum: 1)
        let first = gateway.push(slot: .first)
        let second = gateway.push(slot: .second)
        #expect(first.publishes.count == 1 && second.publishes.isEmpty && second.appends.count == 1)
        gateway.commit(second)
        #expect(gateway.read(gateway.acknowledge(first.publish, on: link)).pushIDs == ["push-2"])
    }

    @Test("A link that is lost commits what was held, and the next one gets it")
    func linkLost() {
        var gateway = TestGateway()
        let link = gateway.link()
        gateway.push()
        let lost = gateway.handle(.closed(link))
        #expect(lost.appends.count == 1 && lost.answers.isEmpty && !gateway.machine.isOnline(device))
        #expect(gateway.commit(lost).answers == [1: .queued])
        let (next, effects) = gateway.linkWithEffects()
        let sent = gateway.read(effects)
        #expect(sent.pushIDs == ["push-1"] && sent.publish?.isDuplicate == false)
        #expect(gateway.acknowledge(sent.publish, on: next).removed.count == 1)
    }

    // MARK: - Take-over

    @Test("The newest link takes over with what was on its way, and a late acknowledgement on the old one counts")
    func takeOver() {
        var gateway = TestGateway()
        let old = gateway.link()
        let sent = gateway.push()
        let new = gateway.open()
        let taken = gateway.connect(device, on: new, ["revision": "1"])
        #expect(taken.disconnect?.reason == .sessionTakenOver && taken.closed == [old] && taken.appends.count == 1)
        #expect(gateway.machine.link(of: device) == new)
        let offered = gateway.subscribe(device, on: new)
        #expect(offered.pushIDs == ["push-1"])
        #expect(gateway.acknowledge(sent.publish, on: old).answers == [1: .delivered])
        #expect(gateway.machine.mailCount == 0)
        // The second one, on the new link, is no news.
        #expect(gateway.acknowledge(offered.publish, on: new).answers.isEmpty)
        gateway.handle(.closed(old))
        #expect(gateway.machine.link(of: device) == new)
    }

    @Test(
        "A late refusal on the old link says nothing about the new one",
        arguments: [MQTTReason.quotaExceeded, .implementationSpecificError, .topicNameInvalid])
    func lateRefusal(reason: MQTTReason) {
        var gateway = TestGateway()
        // Its registrations are others, and must be after the link has ended, too.
        let old = gateway.link(revision: 7)
        let sent = gateway.push()
        let (new, offered) = gateway.linkWithEffects()
        gateway.commit(offered)
        gateway.acknowledge(sent.publish, on: old, reason)
        #expect(gateway.machine.directory[device]?.registrations.count == 2)
        #expect(gateway.wait(.seconds(61)).publishes.isEmpty)
        #expect(gateway.acknowledge(offered.publish, on: new).answers.count == 1)
        #expect(gateway.machine.mailCount == 0)
    }

    // MARK: - Refusals

    @Test(
        "A push that the device can't take now is committed, rests 60 s, and is offered again",
        arguments: [MQTTReason.quotaExceeded, .implementationSpecificError, MQTTReason(rawValue: 0x10)])
    func rest(reason: MQTTReason) {
        var gateway = TestGateway()
        let link = gateway.link()
        let refused = gateway.acknowledge(gateway.push().publish, on: link, reason)
        #expect(refused.appends.count == 1)
        #expect(gateway.commit(refused).answers == [1: .queued])
        gateway.commit(gateway.push())
        #expect(gateway.wait(.seconds(59)).isEmpty)
        let again = gateway.read(gateway.wait(.seconds(1)))
        #expect(again.pushIDs == ["push-1"] && again.publish?.isDuplicate == false)
        #expect(gateway.read(gateway.acknowledge(again.publish, on: link)).pushIDs == ["push-2"])
    }

    @Test("A push that rests is offered at the next connect")
    func restUntilConnect() {
        var gateway = TestGateway()
        let link = gateway.link()
        gateway.commit(gateway.acknowledge(gateway.push().publish, on: link, .quotaExceeded))
        let (_, effects) = gateway.linkWithEffects()
        #expect(gateway.read(effects).pushIDs == ["push-1"])
    }

    @Test("A slot that the device does not know ends its registration, if both have the same revision")
    func unknownSlot() {
        var gateway = TestGateway()
        let link = gateway.link()
        let sent = gateway.push()
        gateway.commit(gateway.push())
        gateway.commit(gateway.push(slot: .second))
        let effects = gateway.acknowledge(sent.publish, on: link, .topicNameInvalid)
        #expect(effects.answers == [1: .refused(.unregistered)])
        #expect(effects.drops == [.unregistered, .unregistered] && effects.publishes.isEmpty)
        #expect(effects.changes == [.administrative(device)])
        #expect(
            gateway.machine.directory.owner(ofTokenHash: device.testToken(1)) == .ended(device, at: TestGateway.wall))
        #expect(gateway.machine.directory[device]?.revision == 1)
        #expect(gateway.push(slot: .first).answers == [4: .refused(.unregistered)])
    }

    @Test("With another revision it is a divergence, and the row stays", arguments: [0, 2, nil] as [UInt64?])
    func divergence(revision: UInt64?) {
        var gateway = TestGateway()
        let link = gateway.link(revision: revision)
        let effects = gateway.acknowledge(gateway.push().publish, on: link, .topicNameInvalid)
        #expect(effects.hasDivergence && effects.drops.isEmpty)
        #expect(gateway.commit(effects).answers == [1: .queued])
        #expect(gateway.machine.directory[device]?.registrations.count == 2 && gateway.machine.mailCount == 1)
    }

    @Test("A payload that the device refuses is dropped with a note")
    func badPayload() {
        var gateway = TestGateway()
        let link = gateway.link()
        let effects = gateway.acknowledge(gateway.push().publish, on: link, .payloadFormatInvalid)
        #expect(effects.answers == [1: .refused(.unavailable)] && effects.drops == [.refused])
        #expect(gateway.machine.mailCount == 0)
    }

    // MARK: - Senders

    @Test("A push for a registration that ended since its token was looked up gets 410")
    func endedSlot() {
        var gateway = TestGateway()
        #expect(gateway.push(slot: .third).answers == [1: .refused(.unregistered)])
        #expect(gateway.push(to: .test(9)).answers == [2: .refused(.unregistered)])
    }

    @Test("More than 100 pushes at once to a device are too many")
    func pushRate() {
        var gateway = TestGateway()
        let link = gateway.link()
        for _ in 0..<100 { gateway.acknowledge(gateway.push().publish, on: link) }
        #expect(gateway.push().answers == [101: .refused(.mailboxFull)])
        gateway.now = gateway.now.advanced(by: .milliseconds(50))
        #expect(gateway.push().publishes.count == 1)
    }

    @Test("A repeated push is answered like the first one, or is to come again while that is not decided")
    func repeated() {
        var gateway = TestGateway()
        let first = gateway.push(id: "abc")
        #expect(gateway.push(id: "ABC").answers == [2: .refused(.unavailable)])
        gateway.commit(first)
        #expect(gateway.push(id: "ABC").answers == [3: .queued])
        #expect(gateway.push(slot: .second, id: "abc").appends.count == 1)
        #expect(gateway.machine.mailCount == 2)
    }

    // MARK: - The disk

    @Test("A push that could not be written is refused, and those behind it go on")
    func appendFails() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        let second = gateway.push()
        let due = gateway.wait(.milliseconds(50))
        let failed = gateway.commit(due, isDurable: false)
        #expect(failed.answers == [1: .refused(.unavailable)] && failed.pushIDs == ["push-2"])
        gateway.commit(second)
        #expect(gateway.acknowledge(first.publish, on: link).answers.isEmpty)
        gateway.acknowledge(failed.publish, on: link)
        #expect(gateway.machine.mailCount == 0)
    }

    @Test("A disk that can't be read now is asked again after 60 s")
    func readFails() {
        var gateway = TestGateway()
        gateway.commit(gateway.push())
        let (link, effects) = gateway.linkWithEffects()
        let keys = effects.reads.flatMap(\.1)
        #expect(gateway.handle(.read(device, keys, nil)).isEmpty)
        #expect(gateway.wait(.seconds(59)).isEmpty)
        let again = gateway.wait(.seconds(1))
        #expect(again.reads.count == 1)
        gateway.acknowledge(gateway.read(again).publish, on: link)
        #expect(gateway.machine.mailCount == 0)
    }

    @Test("A push whose row is gone is dropped with a note")
    func rowGone() {
        var gateway = TestGateway()
        gateway.commit(gateway.push())
        let (_, effects) = gateway.linkWithEffects()
        #expect(gateway.read(effects, found: false).drops == [.lost] && gateway.machine.mailCount == 0)
    }

    @Test("A link that is lost while the disk reads gets nothing, and the next one everything")
    func linkLostWhileReading() {
        var gateway = TestGateway()
        gateway.commit(gateway.push())
        let (link, effects) = gateway.linkWithEffects()
        gateway.handle(.closed(link))
        #expect(gateway.read(effects).publishes.isEmpty)
        let (_, next) = gateway.linkWithEffects()
        #expect(gateway.read(next).pushIDs == ["push-1"])
    }
}
