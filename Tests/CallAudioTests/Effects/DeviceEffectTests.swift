@testable import CallAudio
import RingwakeCore
import Testing

/// Streams are moved, ports and profiles switched, defaults changed where nothing else helps; and all of it back.
struct DeviceEffectTests {
    @Test("The call's own streams go to its route, whenever they begin, and back where they were")
    func moves() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.image.play(5, process: 100, sink: 9)
        bench.image.record(6, process: 100, source: 2)
        bench.image.play(7, process: 300, sink: 9)
        bench.apply(try .call(others: .leave))
        #expect(bench.commands == [.set(.playingDevice(5), .name("speakers"))])
        bench.image.play(8, process: 100, sink: 9)
        bench.upkeep()
        #expect(bench.commands == [.set(.playingDevice(8), .name("speakers"))])
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.device == 9)
        #expect(bench.image.playing[8]?.device == 9)
        #expect(bench.ledger.isEmpty)
    }

    @Test("A recording of what a sink plays stays where it is")
    func monitor() throws {
        var bench = EffectBench()
        bench.image.record(6, process: 100, source: 3)
        bench.apply(try .call(others: .leave))
        #expect(bench.commands.isEmpty)
    }

    @Test("A stream goes on with its route, remembers where it came from, and a stream whose device went follows")
    func routeChanges() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.image.addSink(10, "hall")
        bench.image.play(5, process: 100, sink: 9)
        bench.apply(try .call(others: .leave))
        bench.wishes.chosen = "hall"
        bench.upkeep()
        #expect(bench.image.playing[5]?.device == 10)
        bench.image.sinks[10] = nil
        bench.image.playing[5]?.device = 9
        bench.upkeep()
        #expect(bench.image.playing[5]?.device == 1)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.device == 9)
    }

    @Test("A stream that the user moved stays there")
    func usersMove() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.image.addSink(10, "hall")
        bench.image.play(5, process: 100, sink: 9)
        bench.apply(try .call(others: .leave))
        bench.image.playing[5]?.device = 10
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.playing[5]?.device == 10)
        #expect(bench.left == 1)
    }

    @Test("The server's defaults change only for a session whose processes nobody knows")
    func defaults() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.wishes.chosen = "room"
        bench.apply(try .call(others: .leave))
        #expect(bench.commands.isEmpty)
        bench.apply(try .call(others: .leave, processes: []))
        #expect(bench.commands == [.set(.defaultSink, .name("room"))])
        bench.apply(AudioPlan())
        #expect(bench.image.defaultSink == "speakers")
        bench.apply(try .call(others: .leave, processes: []))
        bench.image.addSink(10, "hall")
        bench.image.defaultSink = "hall"
        bench.apply(AudioPlan())
        #expect(bench.image.defaultSink == "hall")
    }

    @Test("A stream that cannot be moved stays, and everything else is done")
    func fixed() throws {
        var bench = EffectBench()
        bench.image.addSink(9, "room")
        bench.image.play(5, process: 100, sink: 9)
        bench.image.play(6, process: 300)
        bench.server.fixedStreams = [5]
        bench.apply(try .call())
        #expect(bench.image.playing[5]?.device == 9)
        #expect(bench.image.playing[6]?.isMuted == true)
        #expect(bench.ledger[.playingDevice(5)] == nil)
    }

    @Test("The speaker's port for as long as it is asked for, then the one of before")
    func port() throws {
        var bench = EffectBench()
        bench.image.plug(true)
        bench.apply(try .call(isSpeakerForced: true))
        #expect(bench.commands == [.set(.sinkPort("speakers"), .name("speaker"))])
        bench.apply(try .call())
        #expect(bench.image.sinks[1]?.activePort == "headphones")
        bench.apply(try .call(isSpeakerForced: true))
        bench.image.sinks[1]?.ports[1].availability = .no
        bench.apply(AudioPlan())
        #expect(bench.image.sinks[1]?.activePort == "speaker")
    }

    @Test("A Bluetooth headset records for the call and plays music after it; the best of its profiles is taken")
    func handsFree() throws {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.image.defaultSink = "bluez.a2dp"
        bench.image.play(5, process: 100, sink: 70)
        bench.image.play(6, process: 300, sink: 1)
        bench.apply(try .call())
        #expect(
            bench.commands == [
                .set(.profile(card: "bluez_card.1"), .name("headset-head-unit-msbc")),
                .set(.playingMute(6), .muted(true)),
                .set(.playingDevice(5), .name("bluez.hfp")),
            ])
        #expect(bench.route.output?.kind == .bluetoothHFP)
        #expect(bench.route.input?.device == "bluez.microphone")
        bench.apply(AudioPlan())
        #expect(bench.image.cards[7]?.activeProfile == "a2dp-sink")
        #expect(bench.commands.first == .set(.profile(card: "bluez_card.1"), .name("a2dp-sink")))
        #expect(bench.ledger.records[.profile(card: "bluez_card.1")] == nil)
        #expect(bench.image.playing[6]?.isMuted == false)
    }

    @Test("Music is heard again only when the headset's output is back: until then it would come from the speaker")
    func waitsForTheSink() throws {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.image.play(6, process: 300, sink: 70)
        bench.apply(try .call())
        bench.plan = AudioPlan()
        #expect(bench.changes().steps.map(\.command) == [.set(.profile(card: "bluez_card.1"), .name("a2dp-sink"))])
        bench.ledger.remove(.profile(card: "bluez_card.1"))
        bench.image.cards[7]?.activeProfile = "a2dp-sink"
        bench.image.addBluetoothDevices("off")
        #expect(bench.changes().isEmpty)
        #expect(bench.changes().isWaiting)
        bench.image.addBluetoothDevices("a2dp-sink")
        #expect(bench.changes().steps.map(\.command) == [.set(.playingMute(6), .muted(false))])
    }

    @Test("A profile of another codec than was asked for is ours all the same")
    func otherCodec() throws {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.apply(try .call())
        bench.image.cards[7]?.activeProfile = "headset-head-unit-cvsd"
        bench.upkeep()
        #expect(bench.commands.isEmpty)
        bench.apply(AudioPlan())
        #expect(bench.image.cards[7]?.activeProfile == "a2dp-sink")
    }

    @Test("A card that refuses is off on PulseAudio: it gets its profile back at once, and the call goes on without")
    func refusedProfile() throws {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.image.play(5, process: 300)
        bench.server.refusedProfiles = ["headset-head-unit-msbc"]
        bench.apply(try .call())
        #expect(
            bench.commands == [
                .set(.profile(card: "bluez_card.1"), .name("headset-head-unit-msbc")),
                .set(.playingMute(5), .muted(true)),
                .set(.profile(card: "bluez_card.1"), .name("a2dp-sink")),
            ])
        #expect(bench.image.cards[7]?.activeProfile == "a2dp-sink")
        #expect(bench.route.output?.device == "speakers")
    }

    @Test("The user chooses the speaker during a call by Bluetooth: the headset plays music again")
    func leavingHandsFree() throws {
        var bench = EffectBench()
        bench.image.addBluetooth()
        bench.apply(try .call())
        bench.wishes.chosen = "builtInSpeaker"
        bench.upkeep()
        #expect(bench.image.cards[7]?.activeProfile == "a2dp-sink")
        #expect(bench.route.output?.device == "speakers")
    }
}
