import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("A simulated daemon stands in for the daemon", .timeLimit(.minutes(10)))
struct SimulatedDaemonTests {
    private func make(
        _ settings: SimulatedDaemon.Settings = .init()
    ) async throws -> (SimulatedDaemon, AppUnderTest) {
        let daemon = try SimulatedDaemon(app: "com.example.phone", settings: settings)
        let app = AppUnderTest(try RingwakeClient(daemon))
        try await daemon.connected()
        return (daemon, app)
    }

    @Test("A call is pushed, reported, answered, held, muted, played to and hung up")
    func wholeCall() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1", caller: "sip:alice@example.org", payload: #"{"n":1}"#)
        let ringing = try await daemon.call("c1", reaches: .ringing)
        #expect(ringing.caller == "sip:alice@example.org" && ringing.callerName == "Reported")
        // The answer to the report and the action come to two tasks.
        try await app.hears("said call c1")
        try daemon.user(.answer, "c1")
        try await daemon.call("c1", reaches: .connected)
        try daemon.user(.hold, "c1")
        try await daemon.call("c1", reaches: .held)
        try daemon.user(.unhold, "c1")
        try await daemon.call("c1", reaches: .connected)
        try daemon.user(.mute, "c1")
        try await daemon.callHasNothingPending("c1")
        #expect(daemon.call("c1")?.isMuted == true)
        try daemon.user(.dtmf("12#"), "c1")
        try await daemon.callHasNothingPending("c1")
        try daemon.user(.end, "c1")
        let ended = try await daemon.call("c1", reaches: .ended)
        #expect(ended.endReason == .localEnded && ended.rings == 1)
        try await app.hears("ended c1 localEnded")
        // Two tasks hear of them, so they are looked at by themselves.
        try await app.hears("audio off c1", count: 2)
        let audio = app.lines.filter { $0.hasPrefix("audio") }
        #expect(audio == ["audio on c1", "audio off c1", "audio on c1", "audio off c1"])
        #expect(
            app.lines.filter { !$0.hasPrefix("credentials") && !$0.hasPrefix("audio") } == [
                "push call c1", "said call c1", "answer c1", "hold c1", "unhold c1", "mute c1", "dtmf 12# c1", "end c1",
                "ended c1 localEnded",
            ])
        await app.close()
    }

    @Test("Two calls are merged, are held together, and each ends by itself")
    func conference() async throws {
        let (daemon, app) = try await make()
        for id in ["c1", "c2"] as [Call.ID] {
            daemon.push(id)
            try await daemon.call(id, reaches: .ringing)
            try daemon.user(.answer, id)
            try await daemon.call(id, reaches: .connected)
        }
        #expect(daemon.call("c1")?.state == .held)
        try daemon.user(.merge(with: "c2"), "c1")
        try await app.hears("merge c1 with c2")
        try await daemon.call("c1", reaches: .connected)
        #expect(daemon.call("c1")?.conference == 1 && daemon.call("c2")?.conference == 1)
        let merged = try await CallController(client: app.client).calls()
        #expect(merged.map(\.conference) == [1, 1] && merged.allSatisfy(\.supportsMerging))
        try daemon.user(.hold, "c2")
        for id in ["c1", "c2"] as [Call.ID] { try await daemon.call(id, reaches: .held) }
        try await CallController(client: app.client).request(.unhold("c1"))
        for id in ["c1", "c2"] as [Call.ID] { try await daemon.call(id, reaches: .connected) }
        try daemon.user(.end, "c1")
        try await daemon.call("c1", reaches: .ended)
        #expect(daemon.call("c2")?.conference == nil && daemon.call("c2")?.state == .connected)
        await app.close()
    }

    @Test("The sender takes a call back, and says why")
    func cancelled() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.cancel("c1", reason: .answeredElsewhere)
        #expect(daemon.call("c1")?.endReason == .answeredElsewhere)
        try await app.hears("ended c1 answeredElsewhere")
        await app.close()
    }

    @Test("Deadlines are met by the clock that the test moves, each at its time")
    func deadlines() async throws {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let app = AppUnderTest(try RingwakeClient(daemon), reports: false, leaves: { $0 == .answer })
        try await daemon.connected()
        daemon.push("late")
        daemon.advance(by: .milliseconds(4_999))
        #expect(daemon.call("late")?.state == .woken)
        daemon.advance(by: .milliseconds(1))
        #expect(daemon.call("late")?.endReason == .handlerFailed)
        // A handler that hangs loses its connection by that.
        try await daemon.connected()
        daemon.push("unanswered")
        try await app.provider.reportIncomingCall(with: "unanswered")
        daemon.advance(by: .seconds(45))
        #expect(daemon.call("unanswered")?.endReason == .unanswered)
        daemon.push("slow")
        try await app.provider.reportIncomingCall(with: "slow")
        try daemon.user(.answer, "slow")
        try await daemon.call("slow", hasPending: .answer)
        daemon.advance(by: .seconds(10))
        #expect(daemon.call("slow")?.endReason == .handlerFailed)
        await app.close()
    }

    @Test("A call that is kept out does not ring, and the app is told by what")
    func keptOut() async throws {
        let (daemon, app) = try await make()
        try daemon.block("sip:spam@example.org", label: "Spam")
        daemon.push("blocked", caller: "sip:spam@example.org")
        #expect(daemon.call("blocked")?.endReason == .blocked)
        daemon.push("unknown")
        try await daemon.call("unknown", reaches: .ringing)
        daemon.setDoNotDisturb(true)
        daemon.push("quiet", caller: "sip:alice@example.org")
        #expect(daemon.call("quiet")?.filter == .doNotDisturb)
        // Who has not said who calls is let through to the app, which may know.
        daemon.push("anonymous")
        #expect(try await daemon.call("anonymous", reaches: .ended).filter == .doNotDisturb)
        try await app.hears("filtered anonymous doNotDisturb")
        daemon.setDoNotDisturb(false)
        daemon.push("loud")
        try await daemon.call("loud", reaches: .ringing)
        #expect(!app.lines.contains("push call quiet") && !app.lines.contains("push call blocked"))
        await app.close()
    }

    @Test("Who calls may be known only from the report, and keeps the call out then")
    func keptOutAtReport() async throws {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let app = AppUnderTest(try RingwakeClient(daemon), reports: false)
        try await daemon.connected()
        try daemon.block("+49900*")
        daemon.push("c1")
        try await app.hears("push call c1")
        await #expect {
            try await app.provider.reportIncomingCall(with: "c1", update: .init(caller: "+49 900 123456"))
        } throws: { error in
            (error as? CallError)?.filter == .blockList
        }
        #expect(daemon.call("c1")?.endReason == .blocked && daemon.call("c1")?.rings == 0)
        await app.close()
    }

    @Test("Two calls: the first is held for the second, which is busy where the app refuses further ones")
    func twoCalls() async throws {
        let (daemon, app) = try await make()
        for call in ["c1", "c2"] as [Call.ID] {
            daemon.push(call)
            try await daemon.call(call, reaches: .ringing)
            try daemon.user(.answer, call)
            try await daemon.call(call, reaches: .connected)
        }
        #expect(daemon.call("c1")?.state == .held)
        #expect(throws: SimulatedRefusal.self) { try daemon.user(.answer, "c2") }
        await app.close()
        var settings = SimulatedDaemon.Settings()
        settings.whenBusy = .reject
        let (other, second) = try await make(settings)
        other.push("c1")
        try await other.call("c1", reaches: .ringing)
        try other.user(.answer, "c1")
        try await other.call("c1", reaches: .connected)
        other.push("c2")
        #expect(try await other.call("c2", reaches: .ended).endReason == .busy)
        await second.close()
    }

    @Test("A reset of the link is told before and after, and pushes come before, between and after")
    func linkReset() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.resetLink(.gatewayAhead, stage: .begun)
        try await app.hears("reset gateway-ahead recover begun push.example.com:8883")
        daemon.push("c2")
        daemon.resetLink(.gatewayAhead, stage: .recovered)
        try await app.hears("reset gateway-ahead recover recovered push.example.com:8883")
        try await daemon.call("c2", reaches: .ringing)
        #expect(daemon.call("c1")?.state == .ringing)
        await app.close()
    }

    @Test("A lock of the device is told before and after, survives a restart, and its end is told")
    func protectedData() async throws {
        let (daemon, app) = try await make()
        let client = app.client
        var states = client.protectedDataUpdates.makeAsyncIterator()
        #expect(await states.next() == .available && client.protectedDataAvailable)
        daemon.lockDevice(grace: .seconds(10))
        guard case .willBecomeUnavailable = await states.next() else {
            Issue.record("the lock was not told")
            return
        }
        #expect(client.protectedDataAvailable)
        daemon.advance(by: .seconds(10))
        #expect(await states.next() == .unavailable && !client.protectedDataAvailable)
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.restart()
        daemon.unlockDevice()
        while await states.next() != .available {}
        #expect(client.protectedDataAvailable)
        await app.close()
    }

    @Test("Restrictions are told, also those that a daemon has when it starts again, and callers are asked about")
    func restrictions() async throws {
        let (daemon, app) = try await make()
        let client = app.client
        var told = client.restrictionUpdates.makeAsyncIterator()
        #expect(await told.next() == Restrictions() && client.restrictions == Restrictions())
        daemon.setDoNotDisturb(true)
        #expect(await told.next()?.doNotDisturb == .init(isActive: true))
        daemon.reconfigure {
            $0.rating = .twelve
            $0.allowsVideoCalls = false
        }
        let now = await told.next()
        #expect(now?.contentRating == .init(name: "12+", number: 300) && now?.allowsVideoCalls == false)
        #expect(now?.allowsExplicitContent == true && client.restrictions == now)
        daemon.stop()
        daemon.reconfigure { $0.rating = nil }
        daemon.start()
        #expect(await told.next()?.contentRating == nil)
        #expect(client.restrictions.doNotDisturb.isActive)
        try daemon.block("+49900*")
        #expect(try await client.isBlocked("+49900123456"))
        #expect(try await !client.isBlocked("sip:alice@example.org"))
        for _ in 0..<8 { _ = try await client.isBlocked("+49900123456") }
        await #expect { try await client.isBlocked("1") } throws: { ($0 as? RingwakeKitError)?.code == .limitReached }
        daemon.advance(by: .seconds(1))
        #expect(try await !client.isBlocked("1"))
        await app.close()
    }

    @Test("The cellular networks are told, also after a restart, and nothing of them without a modem")
    func telephony() async throws {
        let (daemon, app) = try await make()
        let telephony = TelephonyNetworkInfo(client: app.client)
        var told = telephony.updates.makeAsyncIterator()
        #expect(await told.next() == [:] && telephony.networks.isEmpty)
        var network = CellularNetwork(
            id: "0", operatorName: "Example", mobileCountryCode: "262", mobileNetworkCode: "01",
            radioAccessTechnology: .lte)
        daemon.setCellularNetworks([network])
        #expect(await told.next() == ["0": network])
        network.registration = .roaming
        daemon.setCellularNetworks([network])
        #expect(await told.next()?["0"]?.isRoaming == true)
        daemon.restart()
        // A slow reader may miss that they are unknown for a moment.
        while await told.next() != ["0": network] {}
        daemon.setCellularNetworks([])
        #expect(await told.next() == [:] && telephony.networks.isEmpty)
        await app.close()
    }

    @Test("The network changes under a call, and a cellular call begins")
    func surroundings() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.changeNetwork(interface: "wwan0", type: .cellular)
        try await app.hears("network c1 wwan0")
        try daemon.user(.answer, "c1")
        try await daemon.call("c1", reaches: .connected)
        daemon.setCellularCall(true)
        try await app.hears("cellular true")
        try await daemon.call("c1", reaches: .held)
        daemon.setCellularCall(false)
        try await app.hears("cellular false")
        #expect(daemon.call("c1")?.state == .held)
        await app.close()
    }

    @Test("New tokens are told, and that there are none any more")
    func credentials() async throws {
        let (daemon, app) = try await make()
        try await app.hears("credentials 2")
        let before = app.registry.credentials
        #expect(before.allSatisfy { $0.token.utf8.count == 64 } && before[0].contactParameters.contains("pn-prid="))
        daemon.renewCredentials()
        try await app.hears("credentials 2", count: 2)
        #expect(Set(app.registry.credentials.map(\.token)).isDisjoint(with: before.map(\.token)))
        daemon.invalidateCredentials()
        try await app.hears("no credentials")
        #expect(app.registry.credentials.isEmpty)
        await app.close()
    }

    @Test("The vendor's identifier is known with the tokens, stays with new ones, and is another after a reset")
    func vendorIdentifier() async throws {
        let (daemon, app) = try await make()
        try await app.hears("credentials 2")
        let first = try #require(app.client.vendorIdentifier)
        #expect(app.registry.credentials.allSatisfy { $0.host == "phone.example" && $0.port == 2197 })
        daemon.renewCredentials()
        try await app.hears("credentials 2", count: 2)
        #expect(app.client.vendorIdentifier == first)
        daemon.resetIdentity()
        try await app.hears("credentials 2", count: 3)
        let second = try #require(app.client.vendorIdentifier)
        #expect(second != first)
        daemon.restart()
        try await daemon.connected()
        #expect(app.client.vendorIdentifier == second)
        await app.close()
    }

    @Test("Lists of callers are changed by the app, and judge calls")
    func directory() async throws {
        let (daemon, app) = try await make()
        let directory = CallDirectory(client: app.client)
        try await directory.createList(named: "spam", kind: .block)
        try await directory.add([.init("sip:eve@example.org", label: "Eve")], to: "spam")
        #expect(try await directory.lists().map(\.count) == [1])
        #expect(try await directory.check("sip:eve@example.org").rings == false)
        daemon.push("c1", caller: "sip:eve@example.org")
        #expect(daemon.call("c1")?.endReason == .blocked)
        try await directory.remove(["sip:eve@example.org"], from: "spam")
        #expect(try await directory.check("sip:eve@example.org").rings)
        await #expect(throws: RingwakeKitError.self) { try await directory.createList(named: "spam", kind: .identify) }
        await app.close()
    }

    @Test("The app's calls are watched: each change of the list, from its present state on")
    func callList() async throws {
        let (daemon, app) = try await make()
        let provider = CallProvider(client: app.client)
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        var seen: [CallState] = []
        for await calls in provider.callListUpdates {
            guard let call = calls.first else { break }
            #expect(calls.map(\.id) == ["c1"])
            if seen.last != call.state { seen.append(call.state) }
            if call.state == .ringing { try await CallController(client: app.client).request(.answer("c1")) }
            if call.state == .connected { try await CallController(client: app.client).request(.end("c1")) }
        }
        // Some may be skipped on the way. The list is empty in the end.
        #expect(seen.contains(.ringing) && seen.contains(.connected))
        await app.close()
    }

    @Test("The calls of all apps are watched by whoever may see them, and after a restart as they are then")
    func allCalls() async throws {
        let (daemon, app) = try await make()
        let controller = CallController(client: app.client)
        var lists = controller.callListUpdates.makeAsyncIterator()
        #expect(try await lists.next() == [])
        daemon.push("c1", caller: "sip:alice@example.org")
        while try await lists.next()?.first?.state != .ringing {}
        daemon.stop()
        daemon.advance(by: .seconds(60))
        daemon.start()
        while try await lists.next() != [] {}
        await app.close()
        #expect(try await lists.next() == nil)
        var settings = SimulatedDaemon.Settings()
        settings.isOwner = false
        let other = try SimulatedDaemon(app: "com.example.phone", settings: settings)
        let stranger = CallController(client: try RingwakeClient(other))
        await #expect { for try await _ in stranger.callListUpdates {} } throws: { error in
            (error as? RingwakeKitError)?.code == .notPermitted
        }
    }

    @Test("A user's requests by the app's own controller")
    func controller() async throws {
        let (daemon, app) = try await make()
        let controller = CallController(client: app.client)
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        try await controller.request(.answer("c1"))
        try await daemon.call("c1", reaches: .connected)
        try await controller.request(CallTransaction(.mute("c1"), .hold("c1")))
        try await daemon.call("c1", reaches: .held)
        await #expect {
            try await controller.request(CallTransaction(.unhold("c1"), .answer("c1"), .end("c1")))
        } throws: { error in
            (error as? CallTransactionError)?.done == [.unhold("c1")]
        }
        #expect(try await controller.calls().map(\.id) == ["c1"])
        await app.close()
    }
}
