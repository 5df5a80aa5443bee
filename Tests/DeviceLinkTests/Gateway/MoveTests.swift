import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct MoveTests {
    private let device = DeviceID.test(1)
    private let target = ServerReference(host: "push2.example.com", port: 443)

    private func ask(_ gateway: inout TestGateway) -> [LinkGatewayEffect] {
        gateway.handle(.move([device], to: target))
    }

    /// A device that has followed, and comes for what waits.
    private func returning(_ gateway: inout TestGateway) -> (LinkID, [LinkGatewayEffect]) {
        let link = gateway.open()
        let effects = gateway.connect(device, on: link, ["version": "1", "moved": "1", "epoch": "another store"])
        #expect(!effects.hasDivergence)
        return (link, effects)
    }

    @Test("A linked device is asked at once; its record has where it moves to")
    func linked() {
        var gateway = TestGateway()
        let link = gateway.link()
        let effects = ask(&gateway)
        #expect(effects.disconnect?.reason == .serverMoved && effects.closed == [link])
        #expect(effects.disconnect?.serverReference == "push2.example.com:443")
        #expect(effects.changes == [.administrative(device)])
        #expect(gateway.machine.directory[device]?.movesTo == "push2.example.com:443")
    }

    @Test("Another order meanwhile does not let the devices be forgotten that still have to be asked")
    func orders() {
        var gateway = TestGateway((0..<4).map { .test($0) })
        let links = (0..<4).map { gateway.link(.test($0)) }
        let devices = (0..<3).map { DeviceID.test($0) }
        var closed = gateway.handle(.move(devices, to: target)).closed
        // The second may stay, and the last one is to go, too.
        closed += gateway.handle(.move([devices[1]], to: nil)).closed
        closed += gateway.handle(.move([.test(3)], to: target)).closed
        for _ in 0..<20 { closed += gateway.wait(.milliseconds(100)).closed }
        #expect(closed == [links[0], links[2], links[3]])
    }

    @Test("A device that is away is asked in CONNACK; one that comes back is taken, and asked again after an hour")
    func away() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        let refused = gateway.connect(device, on: gateway.open()).connack
        #expect(refused?.reason == .serverMoved && refused?.serverReference == "push2.example.com:443")
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
        gateway.now = gateway.now.advanced(by: .seconds(3600))
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .serverMoved)
    }

    @Test("An order that corrects another is not bound by the hour of that one")
    func corrected() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .serverMoved)
        let right = ServerReference(host: "push3.example.com", port: 443)
        gateway.handle(.move([device], to: right))
        let refused = gateway.connect(device, on: gateway.open()).connack
        #expect(refused?.reason == .serverMoved && refused?.serverReference == "push3.example.com:443")
        // The same order again is none.
        gateway.handle(.move([device], to: right))
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
    }

    @Test("A device that comes by the address that it was to move to has arrived, and is asked no more")
    func sameGateway() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        let link = gateway.open()
        let effects = gateway.connect(device, on: link, ["version": "1", "server": "push2.example.com:443"])
        #expect(effects.connack?.reason == .success && effects.changes == [.administrative(device)])
        #expect(gateway.machine.directory[device]?.server == "push2.example.com:443")
        // It does not take leave from the gateway that it uses, linked or not.
        for isLinked in [true, false] {
            if !isLinked { gateway.handle(.closed(link)) }
            let farewell = gateway.connect(
                device, on: gateway.open(), ["version": "1", "moved": "1", "server": "push.example.com:443"])
            #expect(farewell.connack?.reason == .notAuthorized && !farewell.closed.contains(link))
            #expect(gateway.machine.directory[device]?.revokedAt == nil)
        }
        // One that has gone back to the old address is asked again.
        let back = gateway.connect(device, on: gateway.open(), ["version": "1", "server": "push.example.com:443"])
        #expect(back.connack?.reason == .serverMoved)
    }

    @Test("Pushes are taken until the device has moved")
    func pushes() {
        var gateway = TestGateway()
        _ = gateway.link()
        _ = ask(&gateway)
        #expect(gateway.commit(gateway.push()).answers == [1: .queued])
        #expect(gateway.machine.mailbox(of: device)?.count == 1)
    }

    @Test("A device that has moved gets what waits; then its tokens end, and it goes")
    func farewell() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        gateway.commit(gateway.push())
        let (link, accepted) = returning(&gateway)
        #expect(accepted.connack?.reason == .success && accepted.closed.isEmpty)
        let sent = gateway.read(gateway.subscribe(device, on: link))
        #expect(sent.pushIDs == ["push-1"])
        // What comes meanwhile goes the same way.
        let late = gateway.push(slot: .second)
        #expect(late.pushIDs == ["push-2"])
        #expect(gateway.acknowledge(late.publish, on: link).closed.isEmpty)
        let last = gateway.acknowledge(sent.publish, on: link)
        #expect(last.disconnect?.reason == .success && last.closed == [link])
        #expect(last.notes.contains(.moved(device)) && last.changes == [.administrative(device)])
        #expect(gateway.push().answers == [3: .refused(.unregistered)])
        // It is told where it went, should it come again.
        #expect(gateway.connect(device, on: gateway.open()).connack?.serverReference == "push2.example.com:443")
    }

    @Test("A device for which nothing waits goes at once")
    func nothingWaits() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        let (link, effects) = returning(&gateway)
        #expect(effects.closed == [link] && gateway.machine.directory[device]?.revokedAt != nil)
    }

    @Test("A device that breaks off before all is acknowledged keeps its tokens")
    func brokenFarewell() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        gateway.commit(gateway.push())
        let (link, _) = returning(&gateway)
        gateway.read(gateway.subscribe(device, on: link))
        gateway.handle(.closed(link))
        #expect(gateway.machine.directory[device]?.revokedAt == nil && gateway.machine.mailCount == 1)
    }

    @Test("A move that is taken back asks nobody; a device that unpairs or is paired again has no move")
    func takenBack() {
        var gateway = TestGateway()
        _ = ask(&gateway)
        gateway.handle(.move([device], to: nil))
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
        _ = ask(&gateway)
        gateway.handle(.revoke(device))
        #expect(gateway.machine.directory[device]?.movesTo == nil)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .notAuthorized)
    }

    @Test("For now: a linked device gets 0x9C, and is taken when it comes back")
    func temporary() {
        var gateway = TestGateway()
        _ = gateway.link()
        let effects = gateway.handle(.refer([device], to: target))
        #expect(effects.disconnect?.reason == .useAnotherServer && effects.changes.isEmpty)
        #expect(effects.disconnect?.serverReference == "push2.example.com:443")
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
    }

    @Test("Many devices are asked some at a time")
    func slices() {
        let devices = (0..<26).map { DeviceID.test($0) }
        var gateway = TestGateway(devices)
        for device in devices { _ = gateway.link(device) }
        var counts = [gateway.handle(.move(devices, to: target)).closed.count]
        while let deadline = gateway.machine.nextDeadline, counts.count < 100 {
            counts.append(gateway.wait(gateway.now.duration(to: deadline)).closed.count)
        }
        #expect(counts == [3, 3, 3, 3, 3, 3, 3, 3, 2])
    }
}
