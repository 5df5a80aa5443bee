import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("The daemon goes away, comes back, and starts handlers", .timeLimit(.minutes(10)))
struct SimulatedRestartTests {
    private func make() async throws -> (SimulatedDaemon, AppUnderTest) {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let app = AppUnderTest(try RingwakeClient(daemon))
        try await daemon.connected()
        return (daemon, app)
    }

    @Test("A restart in each state: the call goes on, it rings once, and nothing is asked twice")
    func restart() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.restart()
        // The daemon finds the process again, so that there is nothing to claim.
        try await daemon.connected()
        try daemon.user(.answer, "c1")
        try await daemon.call("c1", reaches: .connected)
        daemon.restart()
        try await daemon.connected()
        try daemon.user(.end, "c1")
        try await daemon.call("c1", reaches: .ended)
        try await app.hears("ended c1 localEnded")
        #expect(daemon.call("c1")?.rings == 1)
        try await app.hears("audio off c1", count: 2)
        let audio = app.lines.filter { $0.hasPrefix("audio") }
        #expect(
            audio == ["audio on c1", "audio off c1", "audio on c1", "audio off c1"], "the second is of the restart")
        #expect(app.lines.count { $0 == "answer c1" } == 1 && app.lines.count { $0 == "end c1" } == 1)
        await app.close()
    }

    @Test("A call that ends while the daemon cannot be reached is told as ended all the same")
    func endedMeanwhile() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.stop()
        daemon.advance(by: .seconds(60))
        daemon.start()
        #expect(daemon.call("c1")?.endReason == .unanswered)
        try await app.hears("ended c1 unanswered")
        await app.close()
    }

    @Test("A connection that breaks loses the calls, and the client claims them")
    func disconnect() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.disconnect()
        #expect(daemon.call("c1")?.isLost == true)
        try await daemon.connected()
        try await app.hears("claimed c1")
        #expect(daemon.call("c1")?.isLost == false)
        try daemon.user(.answer, "c1")
        try await daemon.call("c1", reaches: .connected)
        #expect(daemon.call("c1")?.rings == 1)
        await app.close()
    }

    @Test("The app's process dies, and the next one claims its call")
    func claim() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        await app.close()
        let start = try await daemon.nextStart()
        #expect(start.call == "c1")
        let next = AppUnderTest(try RingwakeClient(daemon, started: start))
        try await next.hears("said claim c1")
        #expect(daemon.call("c1")?.isLost == false)
        try daemon.user(.answer, "c1")
        try await daemon.call("c1", reaches: .connected)
        await next.close()
    }

    @Test("Without a connected handler one is started, and is given the push as its first")
    func coldStart() async throws {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        daemon.push("c1", payload: #"{"a":"b"}"#)
        let start = try await daemon.nextStart()
        #expect(String(decoding: start.input, as: UTF8.self).hasSuffix(#""payload":{"a":"b"}}"#))
        let app = AppUnderTest(try RingwakeClient(daemon, started: start))
        try await daemon.call("c1", reaches: .ringing)
        daemon.push("c2")
        try await daemon.call("c2", reaches: .ringing)
        #expect(app.lines.contains("push call c1") && app.lines.contains("push call c2"))
        daemon.exited(start)
        await app.close()
    }

    @Test("Whoever waits for what cannot be any more is told so")
    func wentAnotherWay() async throws {
        let (daemon, app) = try await make()
        daemon.push("c1")
        try await daemon.call("c1", reaches: .ringing)
        daemon.cancel("c1")
        await #expect(throws: CallEndedEarly.self) { try await daemon.call("c1", reaches: .connected) }
        let waiting = Task { try await daemon.call("never", reaches: .ringing) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await app.close()
    }
}
