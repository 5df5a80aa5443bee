import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite("Probes at a gateway") struct ProbeTests {
    private let device = DeviceID.test(1)

    @Test("A probe takes nothing over, gets no pushes, and is ended when it says anything: that keeps the way open")
    func probe() {
        var gateway = TestGateway()
        gateway.tried = 300
        let link = gateway.link()
        let probe = gateway.open()
        #expect(gateway.machine.link(of: device) == link)
        #expect(gateway.push().packets(to: link).count == 1)
        for packet in [
            .pingreq, .subscribe(MQTTSubscribe(packetID: 1, filters: [.init(LinkTopic.down(device))])),
            .puback(MQTTPuback(packetID: 1, reason: .success)),
        ] as [MQTTPacket] {
            let talkative = gateway.open()
            gateway.connect(device, on: talkative, ["probe": "1"])
            let effects = gateway.receive(packet, on: talkative, of: device)
            #expect(effects.disconnect?.reason == .notAuthorized && effects.closed == [talkative])
            #expect(effects.notes == [.probeEnded(talkative, .left)])
        }
        gateway.connect(device, on: probe, ["probe": "1"])
        let other = gateway.open()
        let effects = gateway.connect(device, on: other, ["probe": "1"])
        #expect(effects.closed == [probe] && effects.disconnect?.reason == .sessionTakenOver)
        #expect(gateway.publish("{}", on: other, of: device).disconnect?.reason == .notAuthorized)
        #expect(gateway.machine.link(of: device) == link)
    }

    @Test("A probe has a place of its device, so that strangers can't end it")
    func place() {
        var gateway = TestGateway()
        gateway.tried = 300
        _ = gateway.link()
        let probe = gateway.open()
        let effects = gateway.connect(device, on: probe, ["probe": "1"])
        #expect(effects.contains(.allow(probe, packetBytes: LinkLimits.pairingPacketBytes)))
    }

    @Test("A probe that lives after its silence and the kernel's keep-alives has survived; its end says what follows")
    func survivingProbe() throws {
        var gateway = TestGateway()
        (gateway.timing, gateway.tried) = (LinkTiming(keepAlive: 240, longest: 900, failed: 600), 300)
        let probe = gateway.open()
        let welcome = try #require(
            gateway.connect(device, on: probe, ["probe": "1"]).connack.flatMap { LinkWelcome($0) })
        #expect(welcome.timing == LinkTiming(keepAlive: 300, longest: 900, failed: 600))
        let deadline = try #require(gateway.machine.deadline(of: probe))
        #expect(gateway.now.duration(to: deadline) == .seconds(300 + 3 * 20 + 5))
        #expect(gateway.handle(.linkDeadlineReached(probe)).isEmpty)
        gateway.now = deadline
        let effects = gateway.handle(.linkDeadlineReached(probe))
        #expect(effects.notes == [.probeEnded(probe, .survived)] && effects.packets.isEmpty)
        #expect(gateway.machine.deadline(of: probe) == nil)
        let timing = LinkTiming(keepAlive: 300, longest: 900, failed: 600, probeAfter: 1560)
        let end = try #require(gateway.handle(.endProbe(probe, timing)).disconnect)
        #expect(end.reason == .success)
        var session = DeviceSession(device: device, purpose: .probe)
        let outputs = session.receive(.disconnect(end), at: gateway.now)
        #expect(outputs == [.end(LinkEnd(.disconnected(.success), "the probe is over", timing: timing))])
    }

    @Test("A probe that breaks, and one that leaves, are told apart; one that is not due is ended at once")
    func endsOfProbes() {
        var gateway = TestGateway()
        gateway.tried = 300
        let (broken, left, late) = (gateway.open(), gateway.open(), gateway.open())
        gateway.connect(device, on: broken, ["probe": "1"])
        #expect(gateway.handle(.closed(broken)).notes == [.probeEnded(broken, .broken)])
        gateway.connect(device, on: left, ["probe": "1"])
        let effects = gateway.receive(.disconnect(MQTTDisconnect()), on: left, of: device)
        #expect(effects.notes == [.probeEnded(left, .left)])
        #expect(gateway.handle(.closed(left)).notes.isEmpty)
        (gateway.timing, gateway.tried) = (LinkTiming(keepAlive: 240, probeAfter: 3600), nil)
        let refusal = gateway.connect(device, on: late, ["probe": "1"])
        #expect(refusal.connack?.reason == .success && refusal.closed == [late])
        #expect(refusal.disconnect?.userProperties == gateway.timing.userProperties)
        #expect(refusal.disconnect?.reason == .success)
    }
}
