@testable import CallAudio
import RingwakeCore
import Testing

/// What a call records while it has no microphone.
struct StrayRecordingTests {
    @Test("A stream that got the monitor for want of a microphone sends nobody's voice back, and gets the microphone")
    func stray() throws {
        let rig = try EngineRig(.withoutMicrophone())
        rig.server.change { $0.image.record(6, process: AudioPlan.callProcess, source: 3) }
        try rig.apply(try .call())
        #expect(rig.server.model.image.recording[6]?.isMuted == true)
        rig.server.change { $0.image.sources[2] = AudioServerImage.notebookMicrophone }
        rig.settleDevices()
        #expect(rig.server.model.image.recording[6]?.device == 2)
        #expect(rig.server.model.image.recording[6]?.isMuted == false)
        // The server moves it there when the microphone goes.
        rig.server.change {
            $0.image.sources[2] = nil
            $0.image.recording[6]?.device = 3
        }
        rig.settleDevices()
        #expect(rig.server.model.image.recording[6]?.isMuted == true)
    }

    @Test(
        "A stream that records a monitor by choice stays there: with a microphone, or where no server would choose it")
    func chosenMonitor() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.record(6, process: AudioPlan.callProcess, source: 3) }
        try rig.apply(try .call())
        rig.server.change { $0.image.sources[2] = nil }
        rig.settleDevices()
        rig.server.change { $0.image.sources[2] = AudioServerImage.notebookMicrophone }
        rig.settleDevices()
        #expect(rig.server.model.image.recording[6]?.device == 3)
        let pipeWire = try EngineRig(.withoutMicrophone(isPipeWire: true))
        pipeWire.server.change { $0.image.record(6, process: AudioPlan.callProcess, source: 3) }
        try pipeWire.apply(try .call())
        for one in [rig, pipeWire] { #expect(one.server.model.image.recording[6]?.isMuted == false) }
    }
}
