import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("A simulated daemon, and calls that the user begins", .timeLimit(.minutes(10)))
struct SimulatedOutgoingTests {
    private func make(
        fulfills: @escaping @Sendable (CallAction.Kind) -> Bool = { _ in true }
    ) async throws -> (SimulatedDaemon, AppUnderTest) {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let app = AppUnderTest(try RingwakeClient(daemon), fulfills: fulfills)
        try await daemon.connected()
        return (daemon, app)
    }

    @Test("The app begins a call, reports how far it is, and talks")
    func wholeCall() async throws {
        let (daemon, app) = try await make()
        let controller = CallController(client: app.client)
        let begun = try await controller.start(to: "sip:bob@example.org", name: "Bob", hasVideo: true, id: "out")
        #expect(begun.id == "out" && begun.isOutgoing && begun.caller == "sip:bob@example.org" && begun.hasVideo)
        try await daemon.call("out", reaches: .connecting)
        try await app.hears("audio on out")
        let known = try #require(app.provider.calls.first)
        #expect(known.isOutgoing && known.isOwn && known.callerName == "Bob" && known.hasVideo)
        try await app.provider.reportOutgoingCallConnecting(with: "out")
        try await app.provider.reportOutgoingCallConnected(with: "out")
        #expect(daemon.call("out")?.state == .connected)
        try daemon.user(.end, "out")
        try await app.hears("ended out localEnded")
        #expect(app.lines.contains("start out") && !app.lines.contains { $0.hasPrefix("push") })
        await app.close()
    }

    @Test("The user begins one in another way; the app can't, and the call fails")
    func failed() async throws {
        let (daemon, app) = try await make { $0 != .start }
        try daemon.userStarts("out", to: "sip:bob@example.org")
        try await app.hears("ended out failed")
        await app.close()
    }

    @Test("The other side is busy")
    func busy() async throws {
        let (daemon, app) = try await make()
        try daemon.userStarts("out", to: "sip:bob@example.org")
        try await daemon.call("out", reaches: .connecting)
        try await app.provider.reportCall(with: "out", endReason: .busy)
        try await app.hears("ended out busy")
        await app.close()
    }

    @Test("What the daemon refuses is said, and begins nothing")
    func refused() async throws {
        let (daemon, app) = try await make()
        daemon.setCellularCall(true)
        let controller = CallController(client: app.client)
        let error = await #expect(throws: CallError.self) { try await controller.start(to: "sip:bob@example.org") }
        #expect(error?.code == .refused && error?.message.contains("cellular") == true)
        let others = await #expect(throws: CallError.self) {
            try await controller.start(to: "sip:bob@example.org", app: "com.example.other")
        }
        #expect(others?.code == .refused)
        #expect(daemon.calls.isEmpty)
        // Nothing keeps an emergency call.
        try await controller.start(to: "tel:112", id: "sos")
        try await daemon.call("sos", reaches: .connecting)
        await app.close()
    }

    @Test("A daemon that is killed and comes back goes on with the call, and asks for nothing twice")
    func restart() async throws {
        let (daemon, app) = try await make()
        try daemon.userStarts("out", to: "sip:bob@example.org")
        try await daemon.call("out", reaches: .connecting)
        daemon.stop()
        daemon.start()
        try await daemon.connected()
        try await app.provider.reportOutgoingCallConnected(with: "out")
        try await daemon.call("out", reaches: .connected)
        #expect(app.lines.filter { $0 == "start out" }.count == 1)
        await app.close()
    }
}
