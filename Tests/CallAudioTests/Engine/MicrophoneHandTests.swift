@testable import CallAudio
import RingwakeCore
import RunLoop
import Testing

/// A microphone that somebody mutes while a call goes on is not opened for that call any more.
struct MicrophoneHandTests {
    /// Of a call that is held.
    private var held: AudioPlan { AudioPlan(isCallWaiting: true) }

    private func rig(isMuted: Bool = false) throws -> EngineRig {
        var image = AudioServerImage.notebook()
        image.sources[2]?.isMuted = isMuted
        return try EngineRig(image)
    }

    private func isMuted(_ rig: EngineRig) -> Bool? { rig.server.model.image.sources[2]?.isMuted }

    private func mute(_ rig: EngineRig, _ isMuted: Bool) {
        rig.server.change { $0.image.sources[2]?.isMuted = isMuted }
        rig.settle()
    }

    @Test(
        "It stays muted through the call's own mute, a hold and another call; the next call has it open again",
        arguments: [false, true])
    func stays(wasMuted: Bool) throws {
        let rig = try rig(isMuted: wasMuted)
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
        mute(rig, true)
        let plans: [AudioPlan] = try [
            .call(isMuted: true), .call(), held, .call(), .call(isInputOpen: false), .call(processes: [101]), held,
            .media(others: .leave), .call(),
        ].map { plan in
            var plan = plan
            plan.isCallWaiting = !plan.sessions.contains(where: \.isCall)
            return plan
        }
        for plan in plans {
            try rig.apply(plan)
            #expect(isMuted(rig) == true, "\(plan)")
        }
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == true)
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == true)
        #expect(rig.engine.isClean)
    }

    @Test("It stays muted also where that was done while the call was held, or muted by itself")
    func later() throws {
        let rig = try rig()
        for meanwhile in try [held, .call(isMuted: true)] {
            try rig.apply(.call())
            try rig.apply(meanwhile)
            mute(rig, true)
            try rig.apply(.call())
            #expect(isMuted(rig) == true)
            try rig.apply(AudioPlan())
            mute(rig, false)
        }
    }

    @Test("It is open again as soon as the user opens it, and stays so")
    func opened() throws {
        let rig = try rig(isMuted: true)
        try rig.apply(.call())
        mute(rig, true)
        try rig.apply(.call(isMuted: true))
        mute(rig, false)
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == false)
    }

    @Test("A mute that we put back is no one's: it is lifted whenever the call goes on")
    func ours() throws {
        let rig = try rig(isMuted: true)
        for plan in try [AudioPlan.call(isMuted: true), held] {
            try rig.apply(.call())
            #expect(isMuted(rig) == false)
            try rig.apply(plan)
            #expect(isMuted(rig) == true)
        }
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
        try rig.apply(AudioPlan())
        #expect(isMuted(rig) == true)
    }

    @Test("A mute that comes with another port is the port's, not the user's")
    func port() throws {
        let rig = try rig()
        try rig.apply(.call())
        rig.server.change {
            $0.image.sources[2]?.ports[1].availability = .yes
            $0.image.sources[2]?.activePort = "headset"
            $0.image.sources[2]?.isMuted = true
        }
        rig.settleDevices()
        try rig.apply(.call(isMuted: true))
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
    }

    @Test("With the server goes what was done on it")
    func lost() throws {
        let rig = try rig()
        try rig.apply(.call())
        mute(rig, true)
        rig.server.crash()
        rig.clear()
        rig.server.connected()
        try #require(rig.drive { rig.reports.contains { if case .connected = $0 { true } else { false } } })
        try rig.apply(.call())
        #expect(isMuted(rig) == false)
    }
}

/// The same on real servers.
@Suite(.serialized, .withAudioServers) struct MicrophoneHandServerTests {
    @Test(
        "A microphone that is muted in a call is not opened by its mute, by a hold or by another call",
        arguments: AudioServerKind.allCases)
    func stays(kind: AudioServerKind) throws {
        let rig = try ServerRig(kind)
        defer { rig.stop() }
        func isMuted(_ image: AudioServerImage?) -> Bool? { image?.source(named: "microphone")?.isMuted }
        func mute(_ isMuted: Bool) throws {
            try rig.host.pactl("set-source-mute", "microphone", isMuted ? "1" : "0")
            try #require(
                rig.host.runLoop.drive { rig.engine.image?.source(named: "microphone")?.isMuted == isMuted })
        }
        try mute(true)
        try rig.apply(.call(processes: []))
        _ = try rig.eye.wait { isMuted($0) == false }
        try mute(true)
        let plans: [AudioPlan] = try [
            .call(isMuted: true, processes: []), .call(processes: []), AudioPlan(isCallWaiting: true),
            .call(processes: []), .call(processes: [1_000_000]),
        ]
        for plan in plans {
            try rig.apply(plan)
            // What was done is acknowledged, and the engine has seen it.
            #expect(isMuted(rig.engine.image) == true, "\(plan)")
        }
        try rig.apply(AudioPlan())
        try rig.apply(.call(processes: []))
        _ = try rig.eye.wait { isMuted($0) == false }
        try rig.apply(AudioPlan())
        _ = try rig.eye.wait { isMuted($0) == true }
    }
}
