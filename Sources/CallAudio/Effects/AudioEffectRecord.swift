internal import RingwakeCore

/// One property of the server that an effect changes.
///
/// A stream is named by its index, which is valid only together with the server's cookie; cards and devices by their
/// names, which survive a restart of the server.
enum EffectTarget: Hashable, Comparable, Sendable, Codable {
    case playingVolume(UInt32)
    case playingMute(UInt32)
    case playingDevice(UInt32)
    case recordingMute(UInt32)
    case recordingDevice(UInt32)
    case profile(card: String)
    case sinkPort(String)
    case sourcePort(String)
    case sourceMute(String)
    case defaultSink
    case defaultSource

    /// The sink input it belongs to.
    var playing: UInt32? {
        switch self {
        case .playingVolume(let stream), .playingMute(let stream), .playingDevice(let stream): stream
        default: nil
        }
    }

    /// The source output it belongs to.
    var recording: UInt32? {
        switch self {
        case .recordingMute(let stream), .recordingDevice(let stream): stream
        default: nil
        }
    }

    /// The card, sink or source it belongs to.
    var device: String? {
        switch self {
        case .profile(let name), .sinkPort(let name), .sourcePort(let name), .sourceMute(let name): name
        default: nil
        }
    }

    /// The name of the property, without its stream or device.
    var property: String {
        switch self {
        case .playingVolume: "volume"
        case .playingMute: "mute"
        case .playingDevice: "sink"
        case .recordingMute: "recording mute"
        case .recordingDevice: "source"
        case .profile: "profile"
        case .sinkPort, .sourcePort: "port"
        case .sourceMute: "microphone mute"
        case .defaultSink: "default sink"
        case .defaultSource: "default source"
        }
    }

    /// Whether it is a property of a device, or the device that a stream uses.
    var isOfDevice: Bool {
        switch self {
        case .playingVolume, .playingMute, .recordingMute: false
        default: true
        }
    }

    /// Whether it is a property of a stream. It ends with the stream, and the server may have stored it for the next
    /// one of its kind.
    var isOfStream: Bool { playing != nil || recording != nil }

    /// The place of its sort among the sorts, and which of them it is.
    private var rank: (sort: Int, stream: UInt32, device: String) {
        switch self {
        case .defaultSink: (0, 0, "")
        case .defaultSource: (1, 0, "")
        case .playingDevice(let stream): (2, stream, "")
        case .playingMute(let stream): (3, stream, "")
        case .playingVolume(let stream): (4, stream, "")
        case .profile(let card): (5, 0, card)
        case .recordingDevice(let stream): (6, stream, "")
        case .recordingMute(let stream): (7, stream, "")
        case .sinkPort(let sink): (8, 0, sink)
        case .sourceMute(let source): (9, 0, source)
        case .sourcePort(let source): (10, 0, source)
        }
    }

    static func < (left: EffectTarget, right: EffectTarget) -> Bool { left.rank < right.rank }

    /// Whether both are the same property of some stream.
    func isSameSort(as other: EffectTarget) -> Bool { isOfStream && property == other.property }
}

/// The value of a target.
enum EffectValue: Hashable, Sendable, Codable {
    case volume([UInt32])
    case muted(Bool)
    /// The name of a profile, a port, a sink or a source.
    case name(String)

    /// The device that PulseAudio stores for a stream that was moved to the default one.
    static let noDevice = EffectValue.name("")
    /// In steps of 1/65536 of full volume.
    static let tolerance: UInt32 = 1

    /// Whether two values are equal, as far as a server keeps what it gets: PipeWire keeps volumes as floating-point
    /// numbers, so they come back up to ``tolerance`` steps off.
    func isSame(as other: EffectValue) -> Bool {
        switch (self, other) {
        case (.volume(let mine), .volume(let theirs)):
            mine.count == theirs.count
                && zip(mine, theirs).allSatisfy { ($0 > $1 ? $0 - $1 : $1 - $0) <= EffectValue.tolerance }
        case (.name(let mine), .name(let theirs)):
            mine == theirs || (HandsFreeProfile.isOne(mine) && HandsFreeProfile.isOne(theirs))
        default: self == other
        }
    }
}

/// One change of the server, made or about to be made, with everything that is needed to undo it.
struct AudioEffectRecord: Hashable, Sendable, Codable {
    var target: EffectTarget
    /// The value before the change. For a stream that began with a value that we had set for its kind: the kind's
    /// value before that.
    var before: EffectValue
    var set: EffectValue
    /// The sessions that want it; it is undone when the last one leaves.
    var owners: Set<AudioSessionID>
    /// The cookie of the server's instance that gave the index in ``target``.
    var cookie: UInt32
    /// The name under which the server stores what this changes; nil if it stores nothing.
    var restoreID: String?
    /// The user has changed this mute: it is left to the user, even if it is changed back.
    var isTaken = false
    /// The positions of the channels of a stream.
    var channels: [Int32] = []

    /// Sort key, so that a journal of the same effects has the same bytes.
    var order: EffectTarget { target }
    /// Whether it set the value that was there before.
    var isNothing: Bool { before.isSame(as: self.set) }

    /// Whether its stream began before the other's. An index of another instance of the server counts as older.
    func isElder(than other: AudioEffectRecord) -> Bool { cookie != other.cookie || index < other.index }

    private var index: UInt32 { target.playing ?? target.recording ?? 0 }
}

/// The order in which changes are made and undone: devices before the streams that use them, and the microphone opens
/// last.
enum EffectStage: Int, Comparable, Sendable, CaseIterable {
    case closeMicrophone, profile, port, device, defaultDevice, level, openMicrophone

    static func < (left: EffectStage, right: EffectStage) -> Bool { left.rawValue < right.rawValue }

    /// The stage in which this target gets this value.
    init(_ target: EffectTarget, _ value: EffectValue) {
        switch target {
        case .sourceMute, .recordingMute: self = value == .muted(true) ? .closeMicrophone : .openMicrophone
        case .profile: self = .profile
        case .sinkPort, .sourcePort: self = .port
        case .playingDevice, .recordingDevice: self = .device
        case .defaultSink, .defaultSource: self = .defaultDevice
        case .playingVolume, .playingMute: self = .level
        }
    }
}

/// Names of card profiles with which a Bluetooth device is a headset that also records.
enum HandsFreeProfile {
    /// PulseAudio up to 14, later versions, PipeWire: `headset-head-unit` may be `headset-head-unit-cvsd` too.
    static let prefixes = ["headset-head-unit", "headset_head_unit", "handsfree_head_unit", "handsfree-head-unit"]

    static func isOne(_ name: String) -> Bool { prefixes.contains { name.hasPrefix($0) } }
}

/// Volumes of PulseAudio's protocol: 65536 is full, and the number is the cube root of the amplitude's gain, so that a
/// slider sounds even (`pa_sw_volume_to_linear`).
enum DuckingGain {
    /// The cube root of 0.2, which is -14 dB.
    private static let factor = 0.584_803_547_642_573_2

    /// The volume of a ducked stream: the amplitude times 0.2, for each channel, so that the balance stays.
    static func ducked(_ volume: [UInt32]) -> [UInt32] { volume.map { UInt32((Double($0) * factor).rounded()) } }
}
