import DeviceLink
import MQTT5
import RingwakeCore
import Testing

@Suite struct PairingTests {
    private let device = DeviceID.test(5)

    private func invite(_ gateway: inout TestGateway, seed: UInt64 = 1) -> Invitations.Codes {
        var random = TimingRandom(seed: seed)
        let bytes = (0..<Invitations.randomBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        guard let codes = gateway.machine.invitations.make(random: bytes, at: gateway.now) else {
            // A test makes fewer than there may be.
            fatalError("too many invitations are open")
        }
        return codes
    }

    private func json(_ code: String, sealing: String? = nil, signature: String? = nil) -> String {
        let request = UplinkMessage.PairRequest(
            code: code, name: "Hall\u{202E}\n", sealing: sealing, signature: signature)
        return String(decoding: UplinkMessage.pair(request).json, as: UTF8.self)
    }

    private func pair(
        _ gateway: inout TestGateway, _ code: String, network: String = "192.0.2.0/24"
    ) -> (LinkID, [LinkGatewayEffect]) {
        let link = gateway.open(network: network)
        gateway.connect(device, on: link, ["pair": "1"])
        return (link, gateway.publish(json(code), on: link, of: device))
    }

    @Test("An unknown device that asks to pair gets a small connection and 10 s, and may not subscribe")
    func pairingConnection() {
        var gateway = TestGateway()
        let link = gateway.open()
        let connack = gateway.connect(device, on: link, ["pair": "1"]).connack
        #expect(connack?.reason == .success && connack?.receiveMaximum == 1 && connack?.maximumPacketSize == 1024)
        #expect(gateway.subscribe(device, on: link).suback?.reasons == [.notAuthorized])
        #expect(gateway.machine.deadline(of: link) == gateway.now.advanced(by: .seconds(10)))
        gateway.now = gateway.now.advanced(by: .seconds(10))
        #expect(gateway.handle(.linkDeadlineReached(link)).closed == [link])
    }

    @Test(
        "A valid code is acknowledged when the device is stored, and then the gateway leaves", arguments: [true, false])
    func validCode(isTyped: Bool) {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        let (link, effects) = pair(&gateway, isTyped ? codes.typed.lowercased() : codes.long)
        #expect(effects.puback == nil && effects.changes.count == 1)
        let stored = gateway.store(effects)
        #expect(stored.puback?.reason == .success && stored.disconnect?.reason == .success)
        #expect(stored.closed == [link])
        #expect(gateway.machine.directory[device]?.name == "Hall  ")
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
    }

    @Test("A device that could not be stored is not paired")
    func storeFails() {
        var gateway = TestGateway()
        let (_, effects) = pair(&gateway, invite(&gateway).typed)
        let stored = gateway.store(effects, isDurable: false)
        #expect(stored.puback?.reason == .implementationSpecificError && stored.closed.count == 1)
        #expect(gateway.machine.directory[device] == nil)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .notAuthorized)
    }

    @Test("A code is valid once")
    func usedTwice() {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        gateway.store(pair(&gateway, codes.typed).1)
        #expect(pair(&gateway, codes.long).1.puback?.reason == .notAuthorized)
    }

    @Test("A code expires after 10 minutes")
    func expired() {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        gateway.now = gateway.now.advanced(by: .seconds(600))
        #expect(pair(&gateway, codes.typed).1.puback?.reason == .notAuthorized)
    }

    @Test("Five wrong codes end an invitation, four don't", arguments: [4, 5])
    func wrongTries(count: Int) {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        for index in 0..<count {
            let wrong = codes.typed.prefix(3) + "0000-000\(index)"
            let (link, effects) = pair(&gateway, String(wrong), network: "network \(index)")
            #expect(effects.puback?.reason == .notAuthorized && effects.disconnect?.reason == .success)
            #expect(effects.closed == [link] && effects.changes.isEmpty)
        }
        #expect(pair(&gateway, codes.typed).1.changes.count == (count == 4 ? 1 : 0))
    }

    @Test("After 20 wrong codes a network waits an hour, and others don't")
    func networkTries() {
        var gateway = TestGateway()
        for _ in 0..<20 { _ = pair(&gateway, "ZZ-0000-0000") }
        let codes = invite(&gateway)
        let refused = pair(&gateway, codes.typed).1.puback
        #expect(refused?.reason == .notAuthorized && refused?.reasonString?.contains("too many") == true)
        #expect(pair(&gateway, codes.typed, network: "198.51.100.0/24").1.changes.count == 1)
        gateway.now = gateway.now.advanced(by: .seconds(3600))
        #expect(pair(&gateway, invite(&gateway, seed: 2).typed).1.changes.count == 1)
    }

    @Test("A pairing device publishes once", arguments: [true, false])
    func secondPublish(isValid: Bool) {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        let link = gateway.open()
        gateway.connect(device, on: link, ["pair": "1"])
        let first = gateway.publish(json(codes.typed), on: link, of: device)
        let second = gateway.publish(json(codes.typed), on: link, of: device, packetID: 8)
        #expect(second.disconnect?.reason == .receiveMaximumExceeded && second.closed == [link])
        // The first one counts nevertheless.
        #expect(gateway.store(first).packets.isEmpty && gateway.machine.directory[device] != nil)
    }

    @Test("A pairing device sends 1024 bytes at most")
    func largePairing() {
        var gateway = TestGateway()
        let link = gateway.open()
        gateway.connect(device, on: link, ["pair": "1"])
        let effects = gateway.publish(json(String(repeating: "0", count: 1000)), on: link, of: device)
        #expect(effects.disconnect?.reason == .packetTooLarge)
    }

    @Test("A pairing device can't register, and a linked one can't pair")
    func wrongOperation() {
        var gateway = TestGateway([device])
        let pairing = gateway.open()
        gateway.connect(device, on: pairing, ["pair": "1"])
        let json = #"{"op":"registrations","revision":2,"registrations":[]}"#
        #expect(gateway.publish(json, on: pairing, of: device).puback?.reason == .notAuthorized)
        let link = gateway.link(device)
        #expect(gateway.publish(self.json("AB"), on: link, of: device).puback?.reason == .notAuthorized)
        #expect(gateway.machine.isOnline(device))
    }

    @Test("A sealing key that the device's key has not signed is refused, and the code stays valid")
    func unsignedSealing() {
        var gateway = TestGateway()
        let codes = invite(&gateway)
        gateway.isSigned = false
        let link = gateway.open()
        gateway.connect(device, on: link, ["pair": "1"])
        let json = json(codes.typed, sealing: "AAAA", signature: "BBBB")
        #expect(gateway.publish(json, on: link, of: device).puback?.reason == .payloadFormatInvalid)
        #expect(pair(&gateway, codes.typed).1.changes.count == 1)
    }

    @Test("An open gateway takes 20 new devices of a network without a code")
    func openAdmission() {
        var gateway = TestGateway([])
        gateway.isOpen = true
        for number in 0..<21 {
            let device = DeviceID.test(number)
            let link = gateway.open()
            gateway.connect(device, on: link, ["pair": "1"])
            let effects = gateway.publish(json(""), on: link, of: device)
            #expect(effects.changes.count == (number < 20 ? 1 : 0))
            if number == 20 { #expect(effects.puback?.reason == .quotaExceeded) }
        }
    }

    @Test("A revoked device is disconnected with 0x98, its pushes leave, and it may pair again with new tokens")
    func revoke() {
        var gateway = TestGateway([device])
        gateway.commit(gateway.push(to: device))
        let link = gateway.link(device)
        let effects = gateway.handle(.revoke(device))
        #expect(effects.disconnect?.reason == .administrativeAction && effects.closed == [link])
        #expect(effects.drops == [.unregistered] && gateway.machine.mailCount == 0)
        #expect(gateway.push(to: device).answers == [2: .refused(.unregistered)])
        gateway.store(pair(&gateway, invite(&gateway).typed).1)
        // Nothing is registered, so its revision must not look like the gateway's.
        let welcome = gateway.connect(device, on: gateway.open(), ["revision": "1"]).connack.flatMap(LinkWelcome.init)
        #expect(welcome?.revision == nil)
    }

    @Test("A device that an administrator revoked needs a code where others need none; one that left by itself doesn't")
    func revokedWhereNoneNeedsCode() {
        var gateway = TestGateway([device])
        gateway.isOpen = true
        let link = gateway.link(device)
        gateway.publish(#"{"op": "unpair"}"#, on: link, of: device)
        gateway.store(pair(&gateway, "").1)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
        gateway.handle(.revoke(device))
        #expect(pair(&gateway, "").1.puback?.reason == .notAuthorized)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .notAuthorized)
        gateway.store(pair(&gateway, invite(&gateway).typed).1)
        #expect(gateway.connect(device, on: gateway.open()).connack?.reason == .success)
    }

    @Test("A sealing key that is no key is refused, in pairing and with registrations")
    func sealingKeyThatIsNone() {
        var gateway = TestGateway([.test(1)])
        gateway.isKey = false
        let link = gateway.open()
        gateway.connect(device, on: link, ["pair": "1"])
        let request = json(invite(&gateway).typed, sealing: "AAAA", signature: "BBBB")
        #expect(gateway.publish(request, on: link, of: device).puback?.reason == .payloadFormatInvalid)
        let linked = gateway.link()
        let set = #"{"op": "registrations", "revision": 2, "sealing": "AAAA", "registrations": []}"#
        #expect(gateway.publish(set, on: linked, of: .test(1)).puback?.reason == .payloadFormatInvalid)
        #expect(gateway.machine.directory[.test(1)]?.revision == 1)
    }

    @Test("A device may register 20 times at once, then every 3 s; the set counts that was taken last")
    func registrationRate() {
        var gateway = TestGateway([device])
        let link = gateway.link(device)
        func register(_ revision: Int) -> MQTTReason? {
            let set = #"{"op": "registrations", "revision": \#(revision), "registrations": []}"#
            let effects = gateway.publish(set, on: link, of: device)
            return effects.puback?.reason ?? gateway.store(effects).puback?.reason
        }
        for revision in 2..<22 { #expect(register(revision) == .success) }
        #expect(register(22) == .quotaExceeded)
        #expect(gateway.machine.directory[device]?.revision == 21)
        gateway.wait(.seconds(3))
        #expect(register(22) == .success)
    }

    @Test("An invitation's codes have different names, and too many are not made")
    func manyInvitations() {
        var invitations = Invitations()
        var names: Set<Substring> = []
        for _ in 0..<Invitations.maximumOpen {
            let codes = invitations.make(
                random: [UInt8](repeating: 255, count: Invitations.randomBytes), at: .at(.zero))
            if let codes { names.insert(codes.typed.prefix(2)) }
        }
        #expect(names.count == Invitations.maximumOpen)
        let random = [UInt8](repeating: 0, count: Invitations.randomBytes)
        #expect(invitations.make(random: random, at: .at(.zero)) == nil)
        #expect(invitations.make(random: random, at: .at(.seconds(600))) != nil)
    }
}
