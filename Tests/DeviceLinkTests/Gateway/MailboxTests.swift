import DeviceLink
import MQTT5
import RingwakeCore
import Testing

/// Pushes to a device that is offline, and what becomes of them.
@Suite struct MailboxTests {
    private let device = DeviceID.test(1)

    // MARK: - Bounds

    @Test("A full slot refuses its next push, and others still take some")
    func fullSlot() {
        var gateway = TestGateway()
        for _ in 0..<20 { gateway.commit(gateway.push(slot: .first)) }
        #expect(gateway.push(slot: .first).answers == [21: .refused(.mailboxFull)])
        #expect(gateway.commit(gateway.push(slot: .second)).answers == [22: .queued])
    }

    @Test("A full mailbox refuses, by count and by bytes", arguments: [true, false])
    func fullMailbox(isByCount: Bool) {
        var limits = LinkLimits()
        if isByCount { limits.maximumMail = 3 } else { limits.maximumMailBytes = 399 }
        var gateway = TestGateway(limits: limits)
        for _ in 0..<3 { gateway.commit(gateway.push(slot: .first)) }
        #expect(gateway.push(slot: .second).answers == [4: .refused(.mailboxFull)])
        #expect(gateway.machine.mailbox(of: device)?.byteCount == 300)
    }

    @Test("A VoIP push displaces the oldest other one, never a VoIP push")
    func displaced() {
        var limits = LinkLimits()
        limits.maximumMail = 2
        var gateway = TestGateway(limits: limits)
        gateway.commit(gateway.push(slot: .first))
        gateway.commit(gateway.push(slot: .second, isVoIP: false))
        #expect(gateway.push(slot: .first, isVoIP: false).answers == [3: .refused(.mailboxFull)])
        let effects = gateway.push(slot: .first)
        #expect(effects.drops == [.displaced] && effects.removed.map(\.sequence) == [2])
        #expect(gateway.commit(effects).answers == [4: .queued])
        #expect(gateway.push(slot: .first).answers == [5: .refused(.mailboxFull)])
    }

    @Test("Nothing is displaced for a push that is refused nevertheless")
    func displacedInVain() {
        var limits = LinkLimits()
        limits.maximumMailBytes = 500
        var gateway = TestGateway(limits: limits)
        gateway.commit(gateway.push(slot: .first, bytes: 300))
        gateway.commit(gateway.push(slot: .second, isVoIP: false, bytes: 100))
        let effects = gateway.push(slot: .first, bytes: 300)
        #expect(effects.answers == [3: .refused(.mailboxFull)] && effects.drops.isEmpty)
        #expect(gateway.machine.mailCount == 2)
    }

    @Test("What waits behind a displaced push goes on")
    func behindDisplaced() {
        var limits = LinkLimits()
        limits.maximumMail = 2
        var gateway = TestGateway(limits: limits)
        let link = gateway.link()
        gateway.commit(gateway.acknowledge(gateway.push(isVoIP: false).publish, on: link, .quotaExceeded))
        gateway.commit(gateway.push())
        let effects = gateway.push(slot: .second)
        #expect(effects.drops == [.displaced] && effects.pushIDs == ["push-3"])
        #expect(effects.reads.flatMap(\.1).map(\.sequence) == [2])
    }

    // MARK: - Collapsing

    @Test("A push replaces the waiting one with its collapse id as soon as it is durable")
    func collapse() {
        var gateway = TestGateway()
        gateway.commit(gateway.push(collapse: "a"))
        gateway.commit(gateway.push())
        let effects = gateway.push(collapse: "a")
        #expect(effects.appends.first?.replaced.map(\.sequence) == [1] && effects.drops.isEmpty)
        let committed = gateway.commit(effects)
        #expect(committed.answers == [3: .queued] && committed.drops == [.collapsed] && committed.removed.isEmpty)
        #expect(gateway.machine.mailbox(of: device)?.pushes.map(\.key.sequence) == [2, 3])
    }

    @Test("The older push stays when the newer one could not be written")
    func collapseFails() {
        var gateway = TestGateway()
        gateway.commit(gateway.push(collapse: "a"))
        let effects = gateway.push(collapse: "a")
        // A link in between must not deliver what is about to be replaced.
        let (_, linked) = gateway.linkWithEffects()
        #expect(linked.reads.isEmpty)
        let failed = gateway.commit(effects, isDurable: false)
        #expect(failed.answers == [2: .refused(.unavailable)] && failed.drops.isEmpty)
        #expect(gateway.read(failed).pushIDs == ["push-1"])
    }

    @Test("A push on its way is followed, not replaced")
    func followed() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push(collapse: "a")
        let second = gateway.push(collapse: "a")
        #expect(second.appends.first?.replaced == [] && second.drops.isEmpty)
        #expect(gateway.acknowledge(first.publish, on: link).pushIDs == ["push-2"])
    }

    // MARK: - Notices

    @Test("A VoIP push that expired comes as a notice without payload and without Message Expiry")
    func expired() throws {
        var gateway = TestGateway()
        gateway.commit(gateway.push(expiration: .at(gateway.now.advanced(by: .seconds(30)))))
        gateway.now = gateway.now.advanced(by: .seconds(30))
        let (link, effects) = gateway.linkWithEffects()
        let packet = try #require(effects.publish)
        #expect(packet.payload.isEmpty && packet.messageExpiryInterval == nil && effects.reads.isEmpty)
        #expect(packet.userProperties.last == MQTTUserProperty("expired", "expired"))
        #expect(gateway.machine.mailbox(of: device)?.byteCount == 0)
        #expect(gateway.acknowledge(packet, on: link).removed.count == 1)
    }

    @Test("A push behind another one does not expire unnoticed while it waits for its turn")
    func expiresInLine() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        gateway.commit(gateway.push(expiration: .at(gateway.now.advanced(by: .seconds(30)))))
        gateway.now = gateway.now.advanced(by: .seconds(31))
        #expect(gateway.acknowledge(first.publish, on: link).pushes.map(\.notice) == [.expired])
    }

    @Test("A push with one attempt that found no link is a notice at the next one")
    func oneAttemptOffline() {
        var gateway = TestGateway()
        #expect(gateway.commit(gateway.push(expiration: .oneAttempt)).answers == [1: .queued])
        #expect(gateway.linkWithEffects().1.pushes.map(\.notice) == [.oneAttempt])
    }

    @Test("A push with one attempt whose link was lost has had it")
    func oneAttemptLost() {
        var gateway = TestGateway()
        let link = gateway.link()
        #expect(gateway.push(expiration: .oneAttempt).pushes.map(\.notice) == [nil])
        gateway.commit(gateway.handle(.closed(link)))
        #expect(gateway.linkWithEffects().1.pushes.map(\.notice) == [.oneAttempt])
    }

    @Test("A push with one attempt that waits for its turn on a link still has it")
    func oneAttemptInLine() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        gateway.commit(gateway.push(expiration: .oneAttempt))
        gateway.push(slot: .second)
        gateway.wait(.milliseconds(50))
        let effects = gateway.read(gateway.acknowledge(first.publish, on: link))
        #expect(effects.pushIDs == ["push-2"] && effects.pushes.map(\.notice) == [nil])
    }

    @Test("A push with one attempt that the device could not take then has had it")
    func oneAttemptRefused() {
        var gateway = TestGateway()
        let link = gateway.link()
        let first = gateway.push()
        gateway.commit(gateway.push(expiration: .oneAttempt))
        let second = gateway.read(gateway.acknowledge(first.publish, on: link))
        gateway.acknowledge(second.publish, on: link, .quotaExceeded)
        #expect(gateway.wait(.seconds(60)).pushes.map(\.notice) == [.oneAttempt])
    }

    @Test("A push with one attempt that waited for its turn when the link was lost does not ring on the next one")
    func oneAttemptInLineLost() {
        var gateway = TestGateway()
        let link = gateway.link()
        gateway.push()
        gateway.commit(gateway.push(expiration: .oneAttempt))
        gateway.commit(gateway.handle(.closed(link)))
        let (next, effects) = gateway.linkWithEffects()
        let first = gateway.read(effects)
        #expect(first.pushIDs == ["push-1"])
        #expect(gateway.acknowledge(first.publish, on: next).pushes.map(\.notice) == [.oneAttempt])
    }

    @Test("A VoIP push is a notice after 24 h, and not before", arguments: [true, false])
    func tooOld(isOver: Bool) {
        var gateway = TestGateway()
        gateway.commit(gateway.push())
        gateway.now = gateway.now.advanced(by: .hours(24)).advanced(by: isOver ? .milliseconds(1) : .zero)
        let (_, effects) = gateway.linkWithEffects()
        #expect(effects.pushes.map(\.notice) == (isOver ? [.tooOld] : []))
        #expect(gateway.read(effects).pushes.map(\.notice) == (isOver ? [] : [nil]))
    }

    @Test("A push that is no VoIP push is dropped when it expired")
    func otherExpired() {
        var gateway = TestGateway()
        gateway.commit(gateway.push(isVoIP: false, expiration: .at(gateway.now.advanced(by: .seconds(30)))))
        gateway.now = gateway.now.advanced(by: .seconds(30))
        let (_, effects) = gateway.linkWithEffects()
        #expect(effects.drops == [.expired] && effects.removed.count == 1 && effects.publishes.isEmpty)
        #expect(gateway.machine.mailCount == 0)
    }

    // MARK: - A restart

    @Test("Rows keep their names and their order over a restart, and a new run starts at 1")
    func restart() {
        let rows = [LinkPush.row(7), .row(9, slot: .second), .row(8)]
        var gateway = TestGateway(mail: rows.map { (device, $0, 50) })
        gateway.commit(gateway.push(slot: .first))
        let (link, effects) = gateway.linkWithEffects()
        var keys: [MailKey] = []
        var queue = gateway.read(effects).publishes
        while !queue.isEmpty {
            let packet = queue.removeFirst()
            if let push = LinkPush(packet) { keys.append(push.key) }
            queue += gateway.read(gateway.acknowledge(packet, on: link)).publishes
        }
        #expect(
            keys == [rows[0].key, rows[1].key, rows[2].key, MailKey(run: TestGateway.run, sequence: 1)])
        #expect(gateway.machine.mailCount == 0)
    }

    @Test("Rows of revoked devices are removed at the start, and those of unknown devices stay in the store")
    func restartWithoutDevice() {
        var revoked = DeviceRecord.test(.test(2))
        revoked.revokedAt = 1
        var machine = LinkGatewayStateMachine(run: 1, epoch: "a")
        let mail = [(device, LinkPush.row(1), 5), (.test(2), .row(2), 5), (.test(3), .row(3), 5)]
        let effects = machine.restore([.test(device), revoked], mail: mail)
        #expect(effects.removed.map(\.sequence) == [2] && machine.mailCount == 1)
    }

    @Test("Rows with absurd times of arrival become notices, and nothing overflows", arguments: [Int64.min, .max])
    func absurdRows(time: Int64) {
        let rows = [
            LinkPush.row(1, expires: .max, arrivedBoot: time), .row(2, slot: .second, expires: 1, arrivedBoot: time),
        ]
        var gateway = TestGateway(mail: rows.map { (device, $0, 50) })
        let effects = gateway.linkWithEffects().1
        #expect(gateway.read(effects).publishes.count + effects.publishes.count == 2)
    }

    // MARK: - Floor

    @Test("Each PUBLISH names the lowest unsettled push of the device")
    func floor() {
        var gateway = TestGateway(mail: [(device, .row(7), 50)])
        let (link, effects) = gateway.linkWithEffects()
        let first = gateway.read(effects)
        #expect(floor(of: first) == "00000000000000aa:7")
        let second = gateway.push(slot: .second)
        #expect(floor(of: second) == "00000000000000aa:7")
        gateway.acknowledge(first.publish, on: link)
        let third = gateway.push(slot: .first)
        #expect(floor(of: third) == "1122334455667788:1")
        gateway.acknowledge(second.publish, on: link)
        gateway.acknowledge(third.publish, on: link)
        #expect(floor(of: gateway.push()) == "1122334455667788:3")
    }

    private func floor(of effects: [LinkGatewayEffect]) -> String? {
        effects.publish?.userProperties.first { $0.name == "floor" }?.value
    }

    @Test("The largest push fits into the smallest Maximum Packet Size that a device may have")
    func largestPush() {
        let text = String(repeating: "t", count: 255)
        let push = LinkPush(
            key: MailKey(run: .max, sequence: .max), pushID: String(repeating: "i", count: 64),
            slot: LinkSlot(rawValue: .max), arrivedWall: .min, arrivedBoot: .min, expires: .max,
            priority: .immediate, type: String(repeating: "p", count: 64), topic: Topic(text),
            environment: .development, sender: String(repeating: "s", count: 64),
            collapseID: String(repeating: "c", count: 64), content: .sealed,
            payload: [UInt8](repeating: 0, count: 5120 + 81))
        let packet = push.packet(to: device, packetID: .max, floor: MailKey(run: .max, sequence: .max), now: 0)
        #expect(MQTTPacket.publish(packet).encoded().count < LinkLimits.leastPacketBytes)
    }
}
