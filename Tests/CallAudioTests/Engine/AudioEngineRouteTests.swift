@testable import CallAudio
import RingwakeCore
import Testing

/// What the engine tells of routes and streams, and what it makes of the user's hand.
struct AudioEngineRouteTests {
    private func changes(_ rig: EngineRig) -> [AudioRouteChangeReason] {
        rig.reports.compactMap { if case .routeChanged(let reason, _, _) = $0 { reason } else { nil } }
    }

    private func output(_ rig: EngineRig) -> String? {
        for report in rig.reports.reversed() {
            if case .routeChanged(_, _, let current) = report {
                return current.outputs.first.map { $0.device + "/" + ($0.port ?? "") }
            }
        }
        return nil
    }

    @Test(
        "A headset that is plugged in takes the call; unplugged, the call goes on and media do not",
        arguments: [true, false])
    func headset(isCall: Bool) throws {
        let rig = try EngineRig()
        try rig.apply(isCall ? try .call() : try .media())
        rig.clear()
        rig.server.change { $0.image.plug(true) }
        rig.settleDevices()
        #expect(changes(rig) == [.newDeviceAvailable])
        #expect(output(rig) == "speakers/headphones")
        rig.clear()
        rig.server.change { $0.image.plug(false) }
        rig.settleDevices()
        #expect(changes(rig) == [.oldDeviceUnavailable])
        #expect(output(rig) == "speakers/speaker")
        #expect(rig.reports.contains(.routeDisconnected) == !isCall)
    }

    @Test("A burst of events is one notification, when it is over")
    func coalesced() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addBluetooth() }
        rig.server.change { $0.image.defaultSink = "bluez.a2dp" }
        rig.settleDevices()
        rig.clear()
        rig.server.change { $0.image.addBluetoothDevices("off") }
        rig.server.change { $0.image.defaultSink = "speakers" }
        rig.server.change { $0.image.cards[7]?.activeProfile = "headset-head-unit" }
        rig.server.change { $0.image.addBluetoothDevices("headset-head-unit") }
        rig.server.change { $0.image.defaultSink = "bluez.hfp" }
        rig.settleDevices()
        #expect(changes(rig) == [.routeConfigurationChange])
    }

    @Test("The user's choice moves the call, until there is none")
    func chosen() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.play(5, process: 100)
        }
        rig.settleDevices()
        try rig.apply(try .call())
        rig.clear()
        rig.engine.handle(.chooseOutput("room"))
        rig.settle()
        #expect(changes(rig) == [.override])
        #expect(rig.server.model.image.playing[5]?.device == 9)
        rig.engine.handle(.chooseOutput(nil))
        rig.settle()
        #expect(rig.server.model.image.playing[5]?.device == 1)
        #expect(rig.server.commands.count == 2)
    }

    @Test("Who moves the call's stream in a mixer has chosen, and is not worked against")
    func mixer() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addSink(9, "room")
            $0.image.play(5, process: 100)
        }
        rig.settleDevices()
        try rig.apply(try .call())
        rig.clear()
        rig.server.clear()
        rig.server.change { $0.image.playing[5]?.device = 9 }
        rig.settleDevices()
        #expect(rig.server.commands.isEmpty)
        #expect(changes(rig) == [.override])
        #expect(output(rig) == "room/")
    }

    @Test("Who picks the other port in a mixer has chosen too")
    func mixersPort() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.plug(true) }
        rig.settleDevices()
        try rig.apply(try .call())
        rig.clear()
        rig.server.clear()
        rig.server.change { $0.image.sinks[1]?.activePort = "speaker" }
        rig.settleDevices()
        #expect(rig.server.commands.isEmpty)
        #expect(output(rig) == "speakers/speaker")
    }

    @Test("The forced speaker is over when a headset comes, and can be asked for again")
    func speaker() throws {
        let rig = try EngineRig()
        try rig.apply(try .call(isSpeakerForced: true))
        rig.server.change { $0.image.plug(true) }
        rig.settleDevices()
        #expect(output(rig) == "speakers/headphones")
        try rig.apply(try .call())
        let again = try rig.apply(try .call(isSpeakerForced: true))
        #expect(again.route.outputs.first?.port == "speaker")
        #expect(rig.server.model.image.sinks[1]?.activePort == "speaker")
    }

    @Test("The speaker after the user's choice wins, and when it is over the choice counts again")
    func speakerAndChoice() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addSink(9, "room") }
        rig.settleDevices()
        rig.engine.handle(.chooseOutput("room"))
        #expect(try rig.apply(try .call()).route.outputs.first?.device == "room")
        #expect(try rig.apply(try .call(isSpeakerForced: true)).route.outputs.first?.device == "speakers")
        #expect(try rig.apply(try .call()).route.outputs.first?.device == "room")
        _ = try rig.apply(try .call(isSpeakerForced: true))
        rig.engine.handle(.chooseOutput("room"))
        #expect(try rig.apply(try .call(isSpeakerForced: true)).route.outputs.first?.device == "room")
    }

    @Test(
        "A choice in a mixer is for this call; one that was asked for is for the next one too",
        arguments: [true, false])
    func nextCall(isByHand: Bool) throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addSink(9, "room") }
        rig.settleDevices()
        _ = try rig.apply(try .call(processes: []))
        if isByHand {
            rig.server.change { $0.image.defaultSink = "room" }
            rig.settleDevices()
            #expect(output(rig) == "room/")
            rig.server.change { $0.image.defaultSink = "speakers" }
            rig.settleDevices()
        } else {
            rig.engine.handle(.chooseOutput("room"))
            rig.settle()
        }
        _ = try rig.apply(AudioPlan())
        let next = try rig.apply(try .call(processes: []))
        #expect(next.route.outputs.first?.device == (isByHand ? "speakers" : "room"))
    }

    @Test("A Bluetooth headset: the profile, its devices, then the rest; the answer has the headset's route")
    func handsFree() throws {
        let rig = try EngineRig()
        rig.server.change {
            $0.image.addBluetooth()
            $0.image.play(5, process: 100, isCorked: true)
        }
        rig.settleDevices()
        let applied = try rig.apply(try .call())
        #expect(applied.route.outputs.first?.kind == .bluetoothHFP)
        #expect(applied.route.inputs.first?.device == "bluez.microphone")
        try rig.apply(AudioPlan())
        #expect(rig.server.model.image.cards[7]?.activeProfile == "a2dp-sink")
        #expect(rig.engine.isClean)
    }

    @Test("A headset whose devices do not come in time is given up: its profile is put back, and the call goes on")
    func lateHandsFree() throws {
        let rig = try EngineRig()
        rig.server.change { $0.image.addBluetooth() }
        rig.settleDevices()
        rig.server.model.areDevicesLate = true
        let applied = try rig.apply(try .call())
        #expect(applied.route.outputs.first?.device == "speakers")
        #expect(rig.server.model.image.cards[7]?.activeProfile == "a2dp-sink")
        #expect(rig.problems.count == 1)
    }

    @Test("A sleep is the reason for the route that is found after it")
    func wake() throws {
        let rig = try EngineRig()
        try rig.apply(try .call())
        rig.clear()
        rig.server.change { $0.image.plug(true) }
        rig.engine.handle(.wokeFromSleep)
        rig.settleDevices()
        #expect(changes(rig) == [.wakeFromSleep])
    }

    @Test("Who plays is told when it changes, and only then")
    func activity() throws {
        let rig = try EngineRig()
        rig.clear()
        rig.server.change { $0.image.play(5, process: 300) }
        rig.settle()
        #expect(rig.reports == [.activity(running: [], othersPlay: true)])
        rig.server.change { $0.image.play(6, process: 300) }
        rig.settle()
        #expect(rig.reports.count == 1)
        try rig.apply(try .call())
        rig.clear()
        rig.server.change { $0.image.record(7, process: 100) }
        rig.settle()
        #expect(rig.reports == [.activity(running: [.call], othersPlay: false)])
        rig.server.change { $0.image.recording[7] = nil }
        rig.settle()
        #expect(rig.reports.last == .activity(running: [], othersPlay: false))
    }

    @Test("The built-in microphone muted by somebody else is told, and when it is over")
    func microphone() throws {
        let rig = try EngineRig()
        try rig.apply(try .call())
        rig.clear()
        rig.server.change { $0.image.sources[2]?.isMuted = true }
        rig.settle()
        rig.server.change { $0.image.sources[2]?.isMuted = false }
        rig.settle()
        #expect(rig.reports == [.microphoneMuted(true), .microphoneMuted(false)])
        #expect(rig.server.commands.isEmpty)
    }

    @Test("The last output goes in a call: there is no route, and it comes back with a device")
    func noRoute() throws {
        let rig = try EngineRig()
        try rig.apply(try .call())
        rig.clear()
        let sink = rig.server.model.image.sinks[1]
        rig.server.change { $0.image.sinks = [:] }
        rig.settleDevices()
        #expect(changes(rig) == [.noSuitableRouteForCategory])
        rig.server.change { $0.image.sinks[1] = sink }
        rig.settleDevices()
        #expect(changes(rig).last == .newDeviceAvailable)
    }
}
