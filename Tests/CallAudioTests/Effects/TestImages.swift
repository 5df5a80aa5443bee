@testable import CallAudio
import RingwakeCore

/// Images of servers, and plans, as tests need them.
extension AudioServerImage {
    typealias Volume = [UInt32]

    /// A notebook: a card with loudspeakers and a jack, a microphone, and what the loudspeakers play as a source.
    static func notebook(cookie: UInt32 = 1, isPipeWire: Bool = false) -> AudioServerImage {
        var image = AudioServerImage(
            cookie: cookie, server: AudioServerDescription(name: "test", version: "1", location: "here"),
            isPipeWire: isPipeWire, defaultSink: "speakers", defaultSource: "microphone")
        image.cards[0] = Card(
            index: 0, name: "card", activeProfile: "duplex", profiles: [.named("duplex")], properties: [:])
        image.sinks[1] = .device(
            1, "speakers", card: 0,
            ports: [.port("speaker", .builtInSpeaker), .port("headphones", .headphones, availability: .no)])
        image.sources[2] = .device(
            2, "microphone", card: 0,
            ports: [
                .port("internal", .builtInMicrophone),
                .port("headset", .headset, availability: .no),
            ])
        image.sources[3] = .device(3, "speakers.monitor", card: 0, ports: [], monitors: 1)
        return image
    }

    static let notebookMicrophone = notebook().sources[2]

    /// Such a notebook whose microphone is not there.
    static func withoutMicrophone(isPipeWire: Bool = false) -> AudioServerImage {
        var image = notebook(isPipeWire: isPipeWire)
        image.sources[2] = nil
        image.defaultSource = "speakers.monitor"
        return image
    }

    /// A Bluetooth headset that plays music: its card records only with another profile.
    mutating func addBluetooth() {
        cards[7] = Card(
            index: 7, name: "bluez_card.1", activeProfile: "a2dp-sink",
            profiles: [
                .named("off"), .named("a2dp-sink", priority: 40), .named("headset-head-unit", priority: 10),
                .named("headset-head-unit-msbc", priority: 20),
            ], properties: ["device.bus": "bluetooth"])
        addBluetoothDevices("a2dp-sink")
    }

    /// What comes and goes with the profile of the Bluetooth card.
    mutating func addBluetoothDevices(_ profile: String) {
        for index: UInt32 in [70, 71, 72] { (sinks[index], sources[index]) = (nil, nil) }
        switch profile {
        case "a2dp-sink":
            sinks[70] = .device(70, "bluez.a2dp", card: 7, ports: [.port("out", .bluetoothA2DP, availability: .yes)])
        case "off": break
        default:
            sinks[71] = .device(71, "bluez.hfp", card: 7, ports: [.port("out", .bluetoothHFP, availability: .yes)])
            sources[72] = .device(
                72, "bluez.microphone", card: 7,
                ports: [.port("in", .bluetoothHFP, availability: .yes)])
        }
    }

    mutating func addSink(_ index: UInt32, _ name: String, ports: [Port] = []) {
        sinks[index] = .device(index, name, card: nil, ports: ports)
    }

    mutating func play(
        _ index: UInt32, process: Int32?, client: UInt32? = nil, sink: UInt32? = 1, volume: Volume = [65_536, 65_536],
        kind: String? = nil, isMuted: Bool = false, isCorked: Bool = false, properties: [String: String] = [:]
    ) {
        playing[index] = .stream(
            index, sink, process, volume, kind, isMuted: isMuted, isCorked: isCorked, properties: properties)
        playing[index]?.client = client
    }

    mutating func record(
        _ index: UInt32, process: Int32?, source: UInt32? = 2, kind: String? = nil, isMuted: Bool = false
    ) {
        recording[index] = .stream(
            index, source, process, [65_536], kind, isMuted: isMuted, isCorked: false, properties: [:])
    }

    mutating func plug(_ isPlugged: Bool) {
        for index in sinks[1]?.ports.indices ?? 0..<0 where sinks[1]?.ports[index].name == "headphones" {
            sinks[1]?.ports[index].availability = isPlugged ? .yes : .no
        }
        sinks[1]?.activePort = isPlugged ? "headphones" : "speaker"
    }
}

extension AudioServerImage.Stream {
    static func stream(
        _ index: UInt32, _ device: UInt32?, _ process: Int32?, _ volume: [UInt32], _ kind: String?, isMuted: Bool,
        isCorked: Bool, properties: [String: String]
    ) -> Self {
        Self(
            index: index, name: "stream \(index)", device: device, process: process, volume: volume,
            channels: volume.count == 2 ? [1, 2] : [0], isVolumeWritable: true, isMuted: isMuted, isCorked: isCorked,
            restoreID: kind, properties: properties)
    }
}

extension AudioServerImage.Device {
    static func device(
        _ index: UInt32, _ name: String, card: UInt32?, ports: [AudioServerImage.Port], monitors: UInt32? = nil
    ) -> Self {
        Self(
            index: index, name: name, description: "", card: card, ports: ports, activePort: ports.first?.name,
            isMuted: false, monitors: monitors, properties: [:])
    }
}

extension AudioServerImage.Port {
    static func port(
        _ name: String, _ kind: AudioPort.Kind, availability: AudioServerImage.Availability = .unknown
    ) -> Self {
        Self(name: name, description: name, availability: availability, kind: kind)
    }
}

extension AudioServerImage.Card.Profile {
    static func named(_ name: String, priority: UInt32 = 1) -> Self {
        Self(
            name: name, priority: priority, sinks: name == "off" ? 0 : 1, sources: 0,
            isAvailable: true)
    }
}

extension AudioSessionID {
    static let call = AudioSessionID(number: 0)
    static let other = AudioSessionID(number: 16)
    static let third = AudioSessionID(number: 17)
}

extension AudioPlan {
    static let callProcess: Int32 = 100

    /// A call whose app is process 100.
    static func call(
        others: Others = .interrupt, isInputOpen: Bool = true, isMuted: Bool = false, isSpeakerForced: Bool = false,
        processes: Set<Int32> = [callProcess], mode: AudioMode = .voiceChat, options: Set<AudioOption> = []
    ) throws -> AudioPlan {
        AudioPlan(sessions: [
            Session(
                id: .call, client: AudioClient(processes: processes, name: "phone"),
                configuration: try AudioSessionConfiguration(.playAndRecord, mode: mode, options: options),
                others: others, isInputOpen: isInputOpen, isMuted: isMuted, isSpeakerForced: isSpeakerForced,
                isCall: true)
        ])
    }

    static func media(
        _ id: AudioSessionID = .other, process: Int32 = 200, others: Others = .duck, category: AudioCategory = .playback
    ) throws -> AudioPlan {
        AudioPlan(sessions: [
            Session(
                id: id, client: AudioClient(processes: [process], name: "player"),
                configuration: try AudioSessionConfiguration(category), others: others,
                isInputOpen: category.hasInput)
        ])
    }
}
