import RingwakeKit
import RingwakeKitTesting
import Testing

@Suite("An app's calls and the audio of a simulated daemon", .timeLimit(.minutes(1)))
struct SimulatedAudioTests {
    private let daemon: SimulatedDaemon
    private let app: AppUnderTest
    private let audio: AsyncStream<CallEvent>

    private static let speaker = AudioPort(kind: .builtInSpeaker, device: "speaker", name: "Speaker")
    private static let headset = AudioPort(kind: .headset, device: "headset", name: "Headset")
    private static let plugged = AudioRoute(inputs: [headset], outputs: [headset])
    private static let withoutMicrophone = AudioRoute(outputs: [speaker], isInputAvailable: false)

    init() async throws {
        daemon = try SimulatedDaemon(app: "com.example.phone")
        app = AppUnderTest(try RingwakeClient(daemon))
        let (audio, continuation) = AsyncStream.makeStream(of: CallEvent.self, bufferingPolicy: .bufferingOldest(64))
        self.audio = audio
        app.provider.observeEvents { event in
            switch event {
            case .audioActivated, .audioDeactivated, .audioFailed, .audioRouteChanged: continuation.yield(event)
            default: break
            }
        }
        try await daemon.connected()
    }

    /// The next event about audio.
    private func next() async throws -> CallEvent {
        var events = audio.makeAsyncIterator()
        guard let event = await events.next() else { throw CancellationError() }
        return event
    }

    private func answer(_ call: Call.ID) async throws {
        daemon.push(call)
        try await daemon.call(call, reaches: .ringing)
        try daemon.user(.answer, call)
        try await daemon.call(call, reaches: .connected)
    }

    @Test("A headset is plugged in during the call, and its microphone goes: each change comes with its reason")
    func routes() async throws {
        try await answer("c1")
        guard case .audioActivated("c1", let first) = try await next() else {
            Issue.record("no audio")
            return
        }
        #expect(first.inputs.map(\.kind) == [.builtInMicrophone] && first.outputs.map(\.kind) == [.builtInSpeaker])
        daemon.setAudioRoute(Self.plugged, reason: .newDeviceAvailable)
        #expect(
            try await next()
                == .audioRouteChanged(call: "c1", .newDeviceAvailable, previous: first, current: Self.plugged))
        daemon.setAudioRoute(Self.plugged, reason: .newDeviceAvailable)
        daemon.setAudioRoute(Self.withoutMicrophone, reason: .oldDeviceUnavailable)
        #expect(
            try await next()
                == .audioRouteChanged(
                    call: "c1", .oldDeviceUnavailable, previous: Self.plugged, current: Self.withoutMicrophone))
        try daemon.user(.end, "c1")
        #expect(try await next() == .audioDeactivated(call: "c1"))
        await app.close()
    }

    @Test("A machine without a microphone activates the call, also when it was so before, and after a restart")
    func withoutMicrophone() async throws {
        daemon.setAudioRoute(Self.withoutMicrophone, reason: .oldDeviceUnavailable)
        try await answer("c1")
        #expect(try await next() == .audioActivated(call: "c1", Self.withoutMicrophone))
        daemon.stop()
        daemon.setAudioRoute(Self.plugged, reason: .newDeviceAvailable)
        daemon.start()
        #expect(try await next() == .audioDeactivated(call: "c1"))
        #expect(try await next() == .audioActivated(call: "c1", Self.plugged))
        await app.close()
    }

    @Test("A server that refuses fails the activation, and the call gets its audio with another route")
    func refusing() async throws {
        let refusal = AudioSessionError(.resourceNotAvailable, "another program has the device")
        daemon.setAudioServer(.refusing(refusal))
        try await answer("c1")
        #expect(try await next() == .audioFailed(call: "c1", refusal))
        #expect(daemon.call("c1")?.state == .connected)
        daemon.setAudioServer(.available)
        daemon.setAudioRoute(Self.plugged, reason: .newDeviceAvailable)
        #expect(try await next() == .audioActivated(call: "c1", Self.plugged))
        await app.close()
    }

    @Test("A server that goes takes the audio with it, and one that comes brings it back")
    func gone() async throws {
        try await answer("c1")
        guard case .audioActivated = try await next() else {
            Issue.record("no audio")
            return
        }
        daemon.setAudioServer(.gone)
        #expect(try await next() == .audioDeactivated(call: "c1"))
        guard case .audioFailed("c1", let error) = try await next() else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .mediaServicesFailed)
        daemon.setAudioRoute(Self.plugged, reason: .newDeviceAvailable)
        daemon.setAudioServer(.available)
        #expect(try await next() == .audioActivated(call: "c1", Self.plugged))
        try daemon.user(.end, "c1")
        #expect(try await next() == .audioDeactivated(call: "c1"))
        // The connection to the server is closed meanwhile.
        daemon.advance(by: .seconds(60))
        daemon.setAudioServer(.gone)
        try await answer("c2")
        guard case .audioFailed("c2", _) = try await next() else {
            Issue.record("no failure of the second call")
            return
        }
        await app.close()
    }
}
