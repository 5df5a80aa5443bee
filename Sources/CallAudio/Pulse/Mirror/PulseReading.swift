internal import CRingwakePulse
internal import RingwakeCore

// Converts libpulse's structs to values. Their pointers are valid only in the callback, and each of them may be nil.

/// Maximum mirrored objects of a kind, ports of a device, and profiles of a card.
enum PulseLimits {
    static let objects = 4_096
    static let parts = 256
}

enum PulseReading {
    /// The struct that libpulse points to.
    static func info<Info>(_ pointer: UnsafeRawPointer) -> Info { pointer.assumingMemoryBound(to: Info.self).pointee }

    static func card(_ info: pa_card_info) -> AudioServerImage.Card {
        let properties = PulseText.properties(info.proplist, PulseText.deviceKeys)
        let activeProfile = PulseText.name(info.active_profile2?.pointee.name)
        return AudioServerImage.Card(
            index: info.index, name: PulseText.string(info.name) ?? "", activeProfile: activeProfile,
            profiles: parts(info.profiles2, info.n_profiles).map { profile in
                AudioServerImage.Card.Profile(
                    name: PulseText.string(profile.name) ?? "", priority: profile.priority, sinks: profile.n_sinks,
                    sources: profile.n_sources, isAvailable: profile.available != 0)
            },
            properties: properties)
    }

    static func client(_ info: pa_client_info) -> PulseClients.Client {
        let properties = PulseText.properties(info.proplist, PulseText.clientKeys)
        return PulseClients.Client(
            index: info.index, process: process(properties["application.process.id"]),
            peer: process(properties["pipewire.sec.pid"]))
    }

    static func sink(_ info: pa_sink_info, cards: [UInt32: AudioServerImage.Card]) -> AudioServerImage.Device {
        let reading = DeviceReading(info.proplist, card: info.card, cards, isInput: false)
        return reading.device(
            info.index, info.name, info.description, isMuted: info.mute != 0, monitors: nil,
            activePort: info.active_port?.pointee.name,
            ports: parts(info.ports, info.n_ports).map {
                reading.port($0.name, $0.description, $0.available, type: $0.type)
            })
    }

    static func source(_ info: pa_source_info, cards: [UInt32: AudioServerImage.Card]) -> AudioServerImage.Device {
        let reading = DeviceReading(info.proplist, card: info.card, cards, isInput: true)
        return reading.device(
            info.index, info.name, info.description, isMuted: info.mute != 0,
            monitors: index(info.monitor_of_sink), activePort: info.active_port?.pointee.name,
            ports: parts(info.ports, info.n_ports).map {
                reading.port($0.name, $0.description, $0.available, type: $0.type)
            })
    }

    /// - Parameter isPipeWire: it announces streams before it knows their volume, and reports 0 until then.
    static func sinkInput(_ info: pa_sink_input_info, isPipeWire: Bool) -> AudioServerImage.Stream {
        let isKnown = info.has_volume != 0 && !(isPipeWire && volume(info.volume).allSatisfy { $0 == 0 })
        return stream(
            info.index, info.name, client: info.client, device: info.sink, info.proplist,
            volume: isKnown ? info.volume : nil, map: info.channel_map,
            isVolumeWritable: info.volume_writable != 0, isMuted: info.mute != 0, isCorked: info.corked != 0)
    }

    static func sourceOutput(_ info: pa_source_output_info) -> AudioServerImage.Stream {
        stream(
            info.index, info.name, client: info.client, device: info.source, info.proplist,
            volume: info.has_volume != 0 ? info.volume : nil, map: info.channel_map,
            isVolumeWritable: info.volume_writable != 0,
            isMuted: info.mute != 0, isCorked: info.corked != 0)
    }

    static func stored(_ info: pa_ext_stream_restore_info) -> StoredStream? {
        guard let name = PulseText.name(info.name) else { return nil }
        return StoredStream(
            name: name, volume: volume(info.volume), channels: positions(info.channel_map), isMuted: info.mute != 0,
            device: PulseText.name(info.device))
    }

    /// One value a channel.
    static func volume(_ volume: pa_cvolume) -> [UInt32] {
        withUnsafeBytes(of: volume.values) { bytes in
            Array(bytes.bindMemory(to: pa_volume_t.self).prefix(Int(volume.channels)))
        }
    }

    /// The position of each channel.
    private static func positions(_ map: pa_channel_map) -> [Int32] {
        withUnsafeBytes(of: map.map) { bytes in
            bytes.bindMemory(to: pa_channel_position_t.self).prefix(Int(map.channels)).map { Int32($0.rawValue) }
        }
    }

    private static func stream(
        _ index: UInt32, _ name: UnsafePointer<CChar>?, client: UInt32, device: UInt32, _ list: OpaquePointer?,
        volume: pa_cvolume?, map: pa_channel_map, isVolumeWritable: Bool, isMuted: Bool, isCorked: Bool
    ) -> AudioServerImage.Stream {
        let properties = PulseText.properties(list, PulseText.streamKeys)
        return AudioServerImage.Stream(
            index: index, name: PulseText.string(name) ?? "", device: Self.index(device),
            process: process(properties["application.process.id"]), client: Self.index(client),
            volume: volume.map(Self.volume) ?? [], channels: positions(map),
            isVolumeWritable: volume != nil && isVolumeWritable,
            isMuted: isMuted, isCorked: isCorked, restoreID: properties["module-stream-restore.id"],
            properties: properties)
    }

    /// The PID that a client wrote; nil if the text isn't one.
    private static func process(_ text: String?) -> Int32? {
        text.flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    static func index(_ index: UInt32) -> UInt32? { index == PulseReading.noIndex ? nil : index }

    /// `PA_INVALID_INDEX`, a macro with a cast.
    static let noIndex = UInt32.max

    static func availability(_ available: Int32) -> AudioServerImage.Availability {
        switch UInt32(bitPattern: available) {
        case PA_PORT_AVAILABLE_NO.rawValue: .no
        case PA_PORT_AVAILABLE_YES.rawValue: .yes
        default: .unknown
        }
    }

    /// The elements of an array of pointers. The array and each pointer may be nil.
    private static func parts<Part>(
        _ array: UnsafeMutablePointer<UnsafeMutablePointer<Part>?>?, _ count: UInt32
    ) -> [Part] {
        guard let array else { return [] }
        return (0..<min(Int(count), PulseLimits.parts)).compactMap { array[$0]?.pointee }
    }
}

/// Reads a sink or a source: libpulse has two structs with the same fields.
private struct DeviceReading {
    private let properties: [String: String]
    private let card: UInt32?
    private let classification: PortClassification
    private let isInput: Bool

    init(_ list: OpaquePointer?, card: UInt32, _ cards: [UInt32: AudioServerImage.Card], isInput: Bool) {
        properties = PulseText.properties(list, PulseText.deviceKeys)
        self.card = PulseReading.index(card)
        self.isInput = isInput
        let card = self.card.flatMap { cards[$0] }
        classification = PortClassification(
            properties: [properties] + (card.map { [$0.properties] } ?? []), activeProfile: card?.activeProfile)
    }

    func device(
        _ index: UInt32, _ name: UnsafePointer<CChar>?, _ description: UnsafePointer<CChar>?, isMuted: Bool,
        monitors: UInt32?, activePort: UnsafePointer<CChar>?, ports: [AudioServerImage.Port]
    ) -> AudioServerImage.Device {
        AudioServerImage.Device(
            index: index, name: PulseText.string(name) ?? "", description: PulseText.string(description) ?? "",
            card: card, ports: ports, activePort: PulseText.name(activePort), isMuted: isMuted,
            monitors: monitors, properties: properties)
    }

    func port(
        _ name: UnsafePointer<CChar>?, _ description: UnsafePointer<CChar>?, _ available: Int32, type: UInt32
    ) -> AudioServerImage.Port {
        let name = PulseText.string(name) ?? ""
        return AudioServerImage.Port(
            name: name, description: PulseText.string(description) ?? "",
            availability: PulseReading.availability(available),
            kind: classification.kind(type: type, name: name, isInput: isInput))
    }
}
