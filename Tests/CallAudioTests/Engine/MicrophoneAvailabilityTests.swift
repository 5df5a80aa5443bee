@testable import CallAudio
import RingwakeCore
import Testing

/// A call is active with the devices that there are, in each direction; what comes later is added.
struct MicrophoneAvailabilityTests {
    private typealias Change = (reason: AudioRouteChangeReason, previous: AudioRoute, current: AudioRoute)

    private func changes(_ rig: EngineRig) -> [Change] {
        rig.reports.compactMap {
            if case .routeChanged(let reason, let previous, let current) = $0 {
                (reason, previous, current)
            } else {
                nil
            }
        }
    }

    private func refusal(_ rig: EngineRig, _ plan: AudioPlan) throws -> AudioSessionError? {
        let number = rig.send(plan)
        try #require(rig.drive { rig.answer(to: number) != nil })
        if case .failure(let error) = rig.answer(to: number) { return error }
        return nil
    }

    @Test(
        "A call without a microphone is active: others are silent, its route has no input and says that there is none")
    func listening() throws {
        let rig = try EngineRig(.withoutMicrophone())
        rig.server.change { $0.image.play(5, process: 300) }
        let before = rig.server.model
        let applied = try rig.apply(try .call())
        #expect(applied.route.outputs.map(\.device) == ["speakers"])
        #expect(applied.route.inputs.isEmpty && !applied.route.isInputAvailable)
        #expect(rig.server.commands == [.set(.playingMute(5), .muted(true))])
        try rig.apply(AudioPlan())
        #expect(rig.server.model == before && rig.engine.isClean)
    }

    @Test("A microphone that is plugged in is opened and added to the call; unplugged, the call goes on without it")
    func plugged() throws {
        let rig = try EngineRig(.withoutMicrophone())
        let listening = try rig.apply(try .call()).route
        rig.clear()
        var microphone = AudioServerImage.notebookMicrophone
        microphone?.isMuted = true
        rig.server.change { [microphone] in $0.image.sources[2] = microphone }
        rig.settleDevices()
        let come = changes(rig)
        #expect(come.map(\.reason) == [.newDeviceAvailable] && come.first?.previous == listening)
        #expect(come.first?.current.inputs.map(\.device) == ["microphone"])
        #expect(come.first?.current.isInputAvailable == true)
        #expect(rig.server.model.image.sources[2]?.isMuted == false)
        rig.clear()
        rig.server.change { $0.image.sources[2] = nil }
        rig.settleDevices()
        let gone = changes(rig)
        #expect(gone.map(\.reason) == [.oldDeviceUnavailable] && gone.first?.current == listening)
        #expect(try rig.apply(try .call(isMuted: true)).route == listening, "it can still be changed")
        try rig.apply(AudioPlan())
    }

    @Test("A jack without a plug is no microphone; the plug makes it one")
    func jack() throws {
        var image = AudioServerImage.notebook()
        image.sources[2]?.ports = [.port("jack", .other, availability: .no)]
        image.sources[2]?.activePort = "jack"
        let rig = try EngineRig(image)
        let route = try rig.apply(try .call()).route
        #expect(route.inputs.isEmpty && !route.isInputAvailable)
        rig.clear()
        rig.server.change { $0.image.sources[2]?.ports[0].availability = .yes }
        rig.settleDevices()
        #expect(changes(rig).map(\.reason) == [.newDeviceAvailable])
        #expect(changes(rig).first?.current.inputs.map(\.port) == ["jack"])
        rig.clear()
        rig.server.change { $0.image.sources[2]?.ports[0].availability = .no }
        rig.settleDevices()
        #expect(changes(rig).map(\.reason) == [.oldDeviceUnavailable])
        #expect(changes(rig).first?.current == route)
    }

    @Test("A Bluetooth headset that comes is the call's microphone too")
    func headset() throws {
        let rig = try EngineRig(.withoutMicrophone())
        try rig.apply(try .call())
        rig.clear()
        rig.server.change { $0.image.addBluetooth() }
        #expect(rig.drive { !changes(rig).isEmpty })
        rig.settleDevices()
        #expect(changes(rig).map(\.reason) == [.newDeviceAvailable])
        #expect(changes(rig).first?.current.outputs.map(\.kind) == [.bluetoothHFP])
        #expect(changes(rig).first?.current.inputs.map(\.device) == ["bluez.microphone"])
        #expect(changes(rig).first?.current.isInputAvailable == true)
    }

    @Test("A call without an output is active too, and has one that comes; without any device it is refused")
    func output() throws {
        var image = AudioServerImage.notebook()
        let sink = image.sinks.removeValue(forKey: 1)
        image.sources[3] = nil
        let rig = try EngineRig(image)
        let route = try rig.apply(try .call()).route
        #expect(route.outputs.isEmpty && route.inputs.map(\.device) == ["microphone"] && route.isInputAvailable)
        rig.clear()
        rig.server.change { $0.image.sinks[1] = sink }
        rig.settleDevices()
        #expect(changes(rig).map(\.reason) == [.newDeviceAvailable])
        #expect(changes(rig).first?.current.outputs.map(\.device) == ["speakers"])
        try rig.apply(AudioPlan())
        rig.server.change { ($0.image.sinks, $0.image.sources) = ([:], [:]) }
        rig.settleDevices()
        #expect(try refusal(rig, try .call())?.code == .resourceNotAvailable)
    }

    @Test("A client's session that needs a microphone is refused, also during a call without one")
    func recording() throws {
        let rig = try EngineRig(.withoutMicrophone())
        #expect(try refusal(rig, try .media(category: .playAndRecord))?.code == .resourceNotAvailable)
        #expect(try refusal(rig, try .media(category: .record))?.code == .cannotStartRecording)
        let call = try AudioPlan.call()
        try rig.apply(call)
        var both = call
        both.sessions += try AudioPlan.media(category: .record).sessions
        #expect(try refusal(rig, both)?.code == .cannotStartRecording)
    }

    @Test("A recording whose microphone is gone does not keep another session's effects in force")
    func lostMicrophone() throws {
        let rig = try EngineRig()
        let recording = try AudioPlan.media(others: .leave, category: .playAndRecord)
        try rig.apply(recording)
        rig.server.change { $0.image.play(5, process: 300) }
        var both = try AudioPlan.call()
        both.sessions += recording.sessions
        try rig.apply(both)
        rig.server.change { $0.image.sources[2] = nil }
        rig.settleDevices()
        #expect(rig.server.model.image.playing[5]?.isMuted == true)
        try rig.apply(recording)
        #expect(rig.server.model.image.playing[5]?.isMuted == false)
    }

    @Test("Where no session records, a microphone that comes or goes is told with the same route")
    func media() throws {
        let rig = try EngineRig()
        let route = try rig.apply(try .media()).route
        #expect(route.inputs.isEmpty && route.isInputAvailable)
        rig.clear()
        rig.server.change { $0.image.sources[2] = nil }
        rig.settleDevices()
        rig.server.change { $0.image.sources[2] = AudioServerImage.notebookMicrophone }
        rig.settleDevices()
        #expect(changes(rig).map(\.reason) == [.oldDeviceUnavailable, .newDeviceAvailable])
        #expect(changes(rig).map(\.current.isInputAvailable) == [false, true])
        #expect(changes(rig).allSatisfy { $0.current.hasSamePorts(as: route) })
    }
}
