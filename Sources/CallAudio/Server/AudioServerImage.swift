internal import RingwakeCore

/// The state of an audio server at one time: a value, so that decisions need no server.
///
/// Indexes are valid only together with ``cookie``: another instance of the server gives them to other objects.
struct AudioServerImage: Hashable, Sendable {
    /// Identifies this instance of the server.
    var cookie: UInt32
    var server: AudioServerDescription
    /// The server is PipeWire behind the same protocol.
    var isPipeWire: Bool
    /// Names of the default devices; nil where there are none.
    var defaultSink: String?
    var defaultSource: String?
    var cards: [UInt32: Card] = [:]
    var sinks: [UInt32: Device] = [:]
    var sources: [UInt32: Device] = [:]
    /// Sink inputs: streams that play.
    var playing: [UInt32: Stream] = [:]
    /// Source outputs: streams that record.
    var recording: [UInt32: Stream] = [:]

    /// Whether something can be used: `unknown` where the device cannot tell.
    enum Availability: String, Hashable, Sendable, Codable {
        case unknown, no, yes
    }

    /// A sound card, a Bluetooth device.
    struct Card: Hashable, Sendable {
        var index: UInt32
        var name: String
        var activeProfile: String?
        var profiles: [Profile]
        /// `device.api`, `device.bus`, `device.form_factor`, `device.string` and others that decide something.
        var properties: [String: String]

        struct Profile: Hashable, Sendable {
            var name: String
            var priority: UInt32
            var sinks: UInt32
            var sources: UInt32
            var isAvailable: Bool
        }
    }

    /// A connector of a device.
    struct Port: Hashable, Sendable {
        var name: String
        var description: String
        var availability: Availability
        /// `other` where the server does not tell.
        var kind: AudioPort.Kind
    }

    /// A sink or a source.
    struct Device: Hashable, Sendable {
        var index: UInt32
        var name: String
        var description: String
        /// The card that it belongs to.
        var card: UInt32?
        var ports: [Port]
        var activePort: String?
        var isMuted: Bool
        /// For a source: the index of the sink that it monitors.
        var monitors: UInt32?
        var properties: [String: String]
    }

    /// A sink input or a source output.
    struct Stream: Hashable, Sendable {
        var index: UInt32
        var name: String
        /// The sink or source; nil while it has none, as during each re-route.
        var device: UInt32?
        /// Its process: as it names it itself, else from its client or the kernel; nil where none of them tells.
        var process: Int32?
        /// Its client; nil for streams of the server itself, and for samples.
        var client: UInt32? = nil
        /// One value a channel; empty while unknown: PipeWire reports 0 for a new stream at first.
        var volume: [UInt32]
        /// The channels' positions, in PulseAudio's numbers; empty where unknown.
        var channels: [Int32] = []
        var isVolumeWritable: Bool
        var isMuted: Bool
        var isCorked: Bool
        /// The name under which the server stores its volume (`module-stream-restore.id`); nil where it stores none.
        var restoreID: String?
        /// `application.name`, `application.process.binary`, `media.role`, `media.name` and others that decide
        /// something.
        var properties: [String: String]
    }
}

/// What a server stores for the next stream of a kind (PulseAudio's stream restore).
struct StoredStream: Hashable, Sendable, Codable {
    /// Such as `sink-input-by-media-role:music`.
    var name: String
    /// One value a channel, empty where none is stored; and the channels' positions, in PulseAudio's numbers.
    var volume: [UInt32]
    var channels: [Int32]
    var isMuted: Bool
    /// The sink or source; nil where none is stored.
    var device: String?
}

extension AudioServerImage {
    func sink(named name: String) -> Device? { sinks.values.first { $0.name == name } }

    func source(named name: String) -> Device? { sources.values.first { $0.name == name } }

    func card(named name: String) -> Card? { cards.values.first { $0.name == name } }

    func stream(of target: EffectTarget) -> Stream? {
        target.playing.flatMap { playing[$0] } ?? target.recording.flatMap { recording[$0] }
    }

    /// The same property of every stream of a kind.
    func targets(like target: EffectTarget, ofKind kind: String) -> [EffectTarget] {
        let isPlaying = target.playing != nil
        return (isPlaying ? playing : recording).values.filter { $0.restoreID == kind }.compactMap { stream in
            switch target {
            case .playingVolume: .playingVolume(stream.index)
            case .playingMute: .playingMute(stream.index)
            case .recordingMute: .recordingMute(stream.index)
            default: nil
            }
        }
    }

    /// The value that a target shows: an empty name if it has none for the moment, nil if the target is gone.
    func shown(_ target: EffectTarget) -> EffectValue? {
        func named(_ name: String?) -> EffectValue { .name(name ?? "") }
        return switch target {
        case .playingVolume(let index): playing[index].map { .volume($0.volume) }
        case .playingMute(let index): playing[index].map { .muted($0.isMuted) }
        case .recordingMute(let index): recording[index].map { .muted($0.isMuted) }
        case .playingDevice(let index): playing[index].map { named($0.device.flatMap { sinks[$0]?.name }) }
        case .recordingDevice(let index): recording[index].map { named($0.device.flatMap { sources[$0]?.name }) }
        case .profile(let name): card(named: name).map { named($0.activeProfile) }
        case .sinkPort(let name): sink(named: name).map { named($0.activePort) }
        case .sourcePort(let name): source(named: name).map { named($0.activePort) }
        case .sourceMute(let name): source(named: name).map { .muted($0.isMuted) }
        case .defaultSink: named(defaultSink)
        case .defaultSource: named(defaultSource)
        }
    }

    /// The value of a target; nil if the target is gone, or shows nothing that can be compared.
    func value(of target: EffectTarget) -> EffectValue? {
        if case .playingVolume(let index) = target, playing[index]?.isSettled != true { return nil }
        return shown(target).flatMap { $0 == .name("") ? nil : $0 }
    }

    /// Whether the stream or device of the target exists.
    func has(_ target: EffectTarget) -> Bool { shown(target) != nil }

    /// Whether the target could take this value now.
    func canTake(_ value: EffectValue, for target: EffectTarget) -> Bool {
        switch (target, value) {
        case (.playingVolume, .volume), (.playingMute, .muted), (.recordingMute, .muted), (.sourceMute, .muted): true
        case (.playingDevice, .name(let name)), (.defaultSink, .name(let name)): sink(named: name) != nil
        case (.recordingDevice, .name(let name)), (.defaultSource, .name(let name)): source(named: name) != nil
        case (.profile(let card), .name(let name)):
            self.card(named: card)?.profiles.contains { $0.name == name } ?? false
        case (.sinkPort(let sink), .name(let name)): self.sink(named: sink)?.hasUsablePort(name) ?? false
        case (.sourcePort(let source), .name(let name)): self.source(named: source)?.hasUsablePort(name) ?? false
        default: false
        }
    }

    /// Whether the device exists, and its port can be used.
    func isUsable(_ port: AudioPort, isInput: Bool) -> Bool {
        guard let device = isInput ? source(named: port.device) : sink(named: port.device) else { return false }
        return port.port.map(device.hasUsablePort) ?? true
    }
}

extension AudioServerImage.Device {
    func hasUsablePort(_ name: String) -> Bool { ports.contains { $0.name == name && $0.availability != .no } }
}

extension AudioServerImage.Stream {
    /// Whether it has a device and a volume. A new stream of PipeWire has neither for a moment, and each stream loses
    /// its device while it is moved: its values then don't count.
    var isSettled: Bool { device != nil && volume.contains { $0 > 0 } }

    /// Whether it is a loopback or a filter of the server itself. A played sample has no client, but names its
    /// process.
    var isServersOwn: Bool {
        if properties["node.link-group"] != nil { return true }
        return client == nil && process == nil && properties["application.process.id"] == nil
    }

    /// Whether it plays or records, or could at any moment.
    var isRunning: Bool { device != nil && !isCorked }

    /// Whether it has the values of this stored entry.
    func isSame(as stored: StoredStream) -> Bool {
        isMuted == stored.isMuted
            && (stored.volume.isEmpty || EffectValue.volume(volume).isSame(as: .volume(stored.volume)))
    }
}

extension StoredStream {
    /// Whether both are equal as far as a server reports: PipeWire keeps volumes as fractions, and no devices.
    func isSame(as other: StoredStream) -> Bool {
        name == other.name && isMuted == other.isMuted
            && (volume.isEmpty || EffectValue.volume(volume).isSame(as: .volume(other.volume)))
    }
}
