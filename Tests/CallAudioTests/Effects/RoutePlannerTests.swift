@testable import CallAudio
import RingwakeCore
import Testing

/// The order in which outputs and inputs are preferred, line by line.
struct RoutePlannerTests {
    struct Line: Sendable, CustomTestStringConvertible {
        var what: String
        var output: String
        var input: String? = "microphone/internal"
        var options: Set<AudioOption> = []
        var mode = AudioMode.voiceChat
        var isForced = false
        var wishes = RouteWishes()
        var change: @Sendable (inout AudioServerImage) -> Void = { _ in }

        var testDescription: String { what }
    }

    private static func wishes(chosen: String? = nil, arrived: [String] = [], over: Bool = false) -> RouteWishes {
        var wishes = RouteWishes()
        (wishes.chosen, wishes.arrived, wishes.isSpeakerOver) = (chosen, arrived, over)
        return wishes
    }

    private static let lines: [Line] = [
        Line(what: "nothing special: the default", output: "speakers/speaker"),
        Line(what: "headphones in the jack", output: "speakers/headphones") { $0.plug(true) },
        Line(
            what: "a headset in the jack: its microphone too", output: "speakers/headphones",
            input: "microphone/internal"
        ) {
            $0.plug(true)
        },
        Line(what: "the speaker is forced", output: "speakers/speaker", isForced: true) { $0.plug(true) },
        Line(
            what: "the speaker was forced, and the route has changed since", output: "speakers/headphones",
            isForced: true, wishes: wishes(over: true)
        ) { $0.plug(true) },
        Line(
            what: "the user's choice goes before the forced speaker", output: "speakers/headphones", isForced: true,
            wishes: wishes(chosen: "headphones")
        ) { $0.plug(true) },
        Line(
            what: "the user chose what is not there: as if nothing", output: "speakers/speaker",
            wishes: wishes(chosen: "elsewhere")),
        Line(what: "a choice by name", output: "room", wishes: wishes(chosen: "room")) { $0.addSink(9, "room") },
        Line(
            what: "Bluetooth becomes a headset where that is allowed", output: "bluez_card.1",
            input: "microphone/internal"
        ) { $0.addBluetooth() },
        Line(
            what: "Bluetooth that is a headset already", output: "bluez.hfp/out", input: "bluez.microphone/in"
        ) {
            $0.addBluetooth()
            $0.cards[7]?.activeProfile = "headset-head-unit"
            $0.addBluetoothDevices("headset-head-unit")
        },
        Line(
            what: "its device is not there yet: it is waited for", output: "bluez_card.1"
        ) {
            $0.addBluetooth()
            $0.cards[7]?.activeProfile = "headset-head-unit"
            $0.addBluetoothDevices("off")
        },
        Line(what: "not allowed: the default", output: "speakers/speaker", mode: .default) { $0.addBluetooth() },
        Line(what: "not allowed, and the default is Bluetooth", output: "bluez.a2dp/out", mode: .default) {
            $0.addBluetooth()
            $0.defaultSink = "bluez.a2dp"
        },
        Line(
            what: "the newest headset goes before the one that is plugged in", output: "bluez_card.1",
            wishes: wishes(arrived: ["speakers\u{0}headphones", "bluez.a2dp\u{0}out"])
        ) {
            $0.plug(true)
            $0.addBluetooth()
        },
        Line(
            what: "an arrival that has left is none", output: "speakers/headphones",
            wishes: wishes(arrived: ["speakers\u{0}headphones", "gone\u{0}out"])
        ) { $0.plug(true) },
        Line(what: "a telephone's receiver", output: "speakers/earpiece", mode: .default) {
            $0.sinks[1]?.ports.append(.port("earpiece", .builtInReceiver))
        },
        Line(
            what: "with defaultToSpeaker, the speaker", output: "speakers/speaker", options: [.defaultToSpeaker],
            mode: .default
        ) {
            $0.sinks[1]?.ports.append(.port("earpiece", .builtInReceiver))
            $0.sinks[1]?.activePort = "earpiece"
        },
        Line(what: "a default that somebody set up stays, whatever is plugged in", output: "effects", mode: .default) {
            $0.plug(true)
            $0.addSink(9, "effects")
            $0.defaultSink = "effects"
        },
        Line(what: "no default: the first there is", output: "speakers/speaker") { $0.defaultSink = nil },
        Line(what: "a default that is gone: the first there is", output: "speakers/speaker") { $0.defaultSink = "x" },
        Line(what: "a port that nothing is plugged into is not used", output: "speakers/speaker") {
            $0.sinks[1]?.activePort = "headphones"
        },
    ]

    @Test("Where a call goes", arguments: lines)
    func route(line: Line) throws {
        var image = AudioServerImage.notebook()
        line.change(&image)
        let plan = try AudioPlan.call(isSpeakerForced: line.isForced, mode: line.mode, options: line.options)
        let decision = RoutePlanner(image: image, session: plan.sessions.first, wishes: line.wishes).decision
        #expect(decision.output.map(text) == line.output)
        #expect(decision.isProvisional == line.output.hasPrefix("bluez_card"))
        #expect(decision.input.map(text) == line.input)
    }

    private func text(_ port: AudioPort) -> String { port.device + (port.port.map { "/" + $0 } ?? "") }

    @Test("What a session prefers goes before a headset, and after the user; both by name and by kind")
    func preferred() throws {
        var image = AudioServerImage.notebook()
        image.plug(true)
        image.sources[2]?.ports[1].availability = .yes
        var plan = try AudioPlan.call()
        plan.sessions[0].configuration = try AudioSessionConfiguration(
            .playAndRecord, preferredOutput: "builtInSpeaker", preferredInput: "headset")
        var wishes = RouteWishes()
        wishes.arrived = ["speakers\u{0}headphones"]
        let preferred = RoutePlanner(image: image, session: plan.sessions[0], wishes: wishes).decision
        #expect(preferred.output?.port == "speaker")
        #expect(preferred.input?.port == "headset")
        wishes.chosen = "headphones"
        let chosen = RoutePlanner(image: image, session: plan.sessions[0], wishes: wishes).decision
        #expect(chosen.output?.port == "headphones")
    }

    @Test("A wired headset's microphone is the input, where it has one")
    func wiredHeadset() throws {
        var image = AudioServerImage.notebook()
        image.plug(true)
        image.sources[2]?.ports[1].availability = .yes
        let plan = try AudioPlan.call()
        let decision = RoutePlanner(image: image, session: plan.sessions[0], wishes: RouteWishes()).decision
        #expect(decision.input?.port == "headset")
    }

    @Test("Media go to the default, and the user's choice for calls is not theirs")
    func media() throws {
        var image = AudioServerImage.notebook()
        image.plug(true)
        image.sinks[1]?.activePort = "speaker"
        image.addBluetooth()
        var wishes = RouteWishes()
        wishes.chosen = "bluez.a2dp"
        let session = try #require(try AudioPlan.media().sessions.first)
        let decision = RoutePlanner(image: image, session: session, wishes: wishes).decision
        #expect(decision.output?.device == "speakers")
        #expect(decision.input == nil)
        let none = RoutePlanner(image: image, session: nil, wishes: wishes).decision
        #expect(none.output?.port == "speaker")
        #expect(none.input?.device == "microphone")
    }

    @Test("What a sink plays is no microphone: without a real one there is none")
    func monitors() throws {
        var image = AudioServerImage.notebook()
        image.sources[2] = nil
        image.defaultSource = "speakers.monitor"
        let plan = try AudioPlan.call()
        #expect(RoutePlanner(image: image, session: plan.sessions[0], wishes: RouteWishes()).decision.input == nil)
    }

    @Test("Names of hands-free profiles differ between servers and versions, and are the same thing")
    func handsFreeNames() {
        let names = ["headset-head-unit", "headset-head-unit-cvsd", "headset_head_unit", "handsfree_head_unit"]
        for name in names {
            #expect(EffectValue.name(name).isSame(as: .name("headset-head-unit")))
        }
        #expect(!EffectValue.name("a2dp-sink").isSame(as: .name("headset-head-unit")))
    }
}
