import CallHandling
import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("The handler, without a daemon and without a phone", .timeLimit(.minutes(1)))
struct CallHandlerTests {
    /// Runs a handler on a simulated daemon while `body` plays the sender and the user.
    private func withHandler(
        _ line: TestLine, stays: Bool = true,
        _ body: (SimulatedDaemon) async throws -> Void
    ) async throws {
        let daemon = try SimulatedDaemon(app: "com.example.phone")
        let client = try RingwakeClient(daemon)
        let running = Task { await CallHandler(client: client, line: line, stays: stays).run() }
        try await daemon.connected()
        try await body(daemon)
        if stays { client.close() }
        // A test that takes too long is cancelled: then the handler ends with its client.
        await withTaskCancellationHandler {
            await running.value
        } onCancel: {
            client.close()
        }
    }

    @Test("A call is reported when the line has it, answered by its user, and hung up")
    func answered() async throws {
        let line = TestLine()
        try await withHandler(line) { daemon in
            daemon.push("c1")
            let ringing = try await daemon.call("c1", reaches: .ringing)
            #expect(ringing.caller == "sip:test@example.org")
            try daemon.user(.answer, "c1")
            try await daemon.call("c1", reaches: .connected)
            try daemon.user(.hold, "c1")
            try await daemon.call("c1", reaches: .held)
            try daemon.user(.unhold, "c1")
            try await daemon.call("c1", reaches: .connected)
            try daemon.user(.dtmf("1#"), "c1")
            try await daemon.callHasNothingPending("c1")
            try daemon.user(.end, "c1")
            #expect(try await daemon.call("c1", reaches: .ended).endReason == .localEnded)
        }
        #expect(line.done.prefix(5) == ["answer c1", "hold c1", "unhold c1", "play 1# c1", "end c1"])
    }

    @Test("The user calls somebody, who answers, and hangs up")
    func dials() async throws {
        let line = TestLine()
        try await withHandler(line, stays: false) { daemon in
            try daemon.userStarts("c1", to: "sip:bob@example.org")
            try await daemon.call("c1", reaches: .connecting)
            line.answerRemotely("c1")
            try await daemon.call("c1", reaches: .connected)
            line.endRemotely("c1")
            #expect(try await daemon.call("c1", reaches: .ended).endReason == .remoteEnded)
        }
        #expect(line.done == ["dial sip:bob@example.org c1", "end c1", "rest"])
    }

    @Test("Whom the line can't call is not called")
    func failingDial() async throws {
        try await withHandler(TestLine(breaks: ["dial nobody"])) { daemon in
            try daemon.userStarts("c1", to: "nobody")
            #expect(try await daemon.call("c1", reaches: .ended).endReason == .failed)
        }
    }

    @Test("The other side hangs up")
    func remoteEnd() async throws {
        let line = TestLine()
        try await withHandler(line) { daemon in
            daemon.push("c1")
            try await daemon.call("c1", reaches: .ringing)
            try daemon.user(.answer, "c1")
            try await daemon.call("c1", reaches: .connected)
            line.endRemotely("c1")
            #expect(try await daemon.call("c1", reaches: .ended).endReason == .remoteEnded)
        }
    }

    @Test("A call that is cancelled while the line waits for it leaves nothing waiting")
    func cancelledWhileWaking() async throws {
        let line = TestLine(isSlow: true)
        try await withHandler(line, stays: false) { daemon in
            daemon.push("c1")
            try await daemon.call("c1", reaches: .woken)
            daemon.cancel("c1")
        }
        // It may have been cancelled before the line heard of it at all.
        #expect(!line.done.contains("awaits c1") || line.done.last == "rest")
    }

    @Test("What the line cannot do fails, and the call goes on")
    func failingHold() async throws {
        let line = TestLine(breaks: ["hold"])
        try await withHandler(line) { daemon in
            daemon.push("c1")
            try await daemon.call("c1", reaches: .ringing)
            try daemon.user(.answer, "c1")
            try await daemon.call("c1", reaches: .connected)
            try daemon.user(.hold, "c1")
            try await daemon.callHasNothingPending("c1")
            #expect(daemon.call("c1")?.state == .connected)
        }
    }

    @Test("An answer that fails ends the call")
    func failingAnswer() async throws {
        try await withHandler(TestLine(breaks: ["answer"])) { daemon in
            daemon.push("c1")
            try await daemon.call("c1", reaches: .ringing)
            try daemon.user(.answer, "c1")
            #expect(try await daemon.call("c1", reaches: .ended).endReason == .failed)
        }
    }

    @Test("The daemon ends and comes back: the call goes on, and is asked for nothing twice")
    func restart() async throws {
        let line = TestLine()
        try await withHandler(line) { daemon in
            daemon.push("c1")
            try await daemon.call("c1", reaches: .ringing)
            daemon.restart()
            try await daemon.connected()
            try daemon.user(.answer, "c1")
            try await daemon.call("c1", reaches: .connected)
            daemon.restart()
            try await daemon.connected()
            try daemon.user(.end, "c1")
            #expect(try await daemon.call("c1", reaches: .ended).rings == 1)
        }
        #expect(line.done.filter { $0 == "answer c1" }.count == 1)
    }

    @Test("A handler that was started ends with its last call, and not before")
    func endsWithItsLastCall() async throws {
        let line = TestLine()
        try await withHandler(line, stays: false) { daemon in
            for call in ["c1", "c2"] as [Call.ID] {
                daemon.push(call)
                try await daemon.call(call, reaches: .ringing)
            }
            try daemon.user(.decline, "c1")
            try await daemon.call("c1", reaches: .ended)
            try daemon.user(.answer, "c2")
            try await daemon.call("c2", reaches: .connected)
            try daemon.user(.end, "c2")
        }
        #expect(line.done.last == "rest")
    }
}
