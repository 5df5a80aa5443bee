package import RingwakeCore

/// One property of the server that an effect changes: what is changed, and of which thing.
///
/// Streams are named by index, which means something only together with the server's cookie; cards and devices by
/// their names, which survive it.
package enum EffectTarget: Hashable, Sendable, Codable {
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

    /// The sink input that it is of.
    package var playing: UInt32? {
        switch self {
        case .playingVolume(let stream), .playingMute(let stream), .playingDevice(let stream): stream
        default: nil
        }
    }

    /// The source output that it is of.
    package var recording: UInt32? {
        switch self {
        case .recordingMute(let stream), .recordingDevice(let stream): stream
        default: nil
        }
    }

    /// It is of a device, or says to which one a stream goes.
    package var isOfDevice: Bool {
        switch self {
        case .playingVolume, .playingMute, .recordingMute: false
        default: true
        }
    }

    /// It is of a stream, so that it goes with the stream, and the server may have stored it for the next of its kind.
    package var isOfStream: Bool { playing != nil || recording != nil }
}

/// What a target has, or is to have.
package enum EffectValue: Hashable, Sendable, Codable {
    case volume([UInt32])
    case muted(Bool)
    /// Of a profile, a port, a sink, a source.
    case name(String)

    /// Whether two values are the same, as far as a server keeps what it is given: PipeWire gives volumes back that are
    /// up to ``tolerance`` steps off, as it keeps them as floating-point numbers.
    package func isSame(as other: EffectValue) -> Bool {
        switch (self, other) {
        case (.volume(let mine), .volume(let theirs)):
            return mine.count == theirs.count
                && zip(mine, theirs).allSatisfy { ($0 > $1 ? $0 - $1 : $1 - $0) <= EffectValue.tolerance }
        case (.name(let mine), .name(let theirs)):
            return mine == theirs || (HandsFreeProfile.isOne(mine) && HandsFreeProfile.isOne(theirs))
        default: return self == other
        }
    }

    /// In steps of 1/65536 of full.
    static let tolerance: UInt32 = 1
}

/// One thing done to the server, or about to be done: everything that is needed to take it back.
package struct AudioEffectRecord: Hashable, Sendable, Codable {
    package var target: EffectTarget
    /// What was there. Of a stream that began with what we had set for its kind: what the kind had before.
    package var before: EffectValue
    package var set: EffectValue
    /// The sessions that want it; it is taken back when none does.
    package var owners: Set<AudioSessionID>
    /// The instance of the server that gave the index in ``target``.
    package var cookie: UInt32
    /// Under which name the server stores what this changes; nil where it does not.
    package var restoreID: String?
    /// The user changed a mute meanwhile: it is theirs from then on, also where they changed it back.
    package var isTaken = false
    /// The channels' positions of a stream whose volume it is.
    package var channels: [Int32]

    package init(
        target: EffectTarget, before: EffectValue, set: EffectValue, owners: Set<AudioSessionID>, cookie: UInt32,
        restoreID: String? = nil, channels: [Int32] = []
    ) {
        self.target = target
        self.before = before
        self.set = set
        self.owners = owners
        self.cookie = cookie
        self.restoreID = restoreID
        self.channels = channels
    }

    /// What gives the target this value; nil where the value does not fit the target.
    package func command(setting value: EffectValue) -> AudioServerCommand? {
        switch (target, value) {
        case (.playingVolume(let stream), .volume(let volume)): .setPlayingVolume(stream: stream, volume)
        case (.playingMute(let stream), .muted(let isMuted)): .mutePlaying(stream: stream, isMuted)
        case (.recordingMute(let stream), .muted(let isMuted)): .muteRecording(stream: stream, isMuted)
        case (.playingDevice(let stream), .name(let sink)): .movePlaying(stream: stream, to: sink)
        case (.recordingDevice(let stream), .name(let source)): .moveRecording(stream: stream, to: source)
        case (.profile(let card), .name(let profile)): .setProfile(card: card, profile)
        case (.sinkPort(let sink), .name(let port)): .setSinkPort(sink: sink, port)
        case (.sourcePort(let source), .name(let port)): .setSourcePort(source: source, port)
        case (.sourceMute(let source), .muted(let isMuted)): .muteSource(source: source, isMuted)
        case (.defaultSink, .name(let sink)): .setDefaultSink(sink)
        case (.defaultSource, .name(let source)): .setDefaultSource(source)
        default: nil
        }
    }
}

extension AudioEffectRecord {
    /// Sorts records, so that a journal of the same effects is the same bytes.
    var order: String { "\(target)" }
}

/// In which order changes are made, and taken back: devices before what goes to them, and nobody is overheard meanwhile.
package enum EffectStage: Int, Comparable, Sendable, CaseIterable {
    case closeMicrophone, profile, port, device, defaultDevice, level, openMicrophone

    package static func < (left: EffectStage, right: EffectStage) -> Bool { left.rawValue < right.rawValue }

    /// Of giving this value to this target.
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
    /// PulseAudio 14 and before, its successors, PipeWire: `headset-head-unit` may be `headset-head-unit-cvsd` too.
    static let prefixes = ["headset-head-unit", "headset_head_unit", "handsfree_head_unit", "handsfree-head-unit"]

    static func isOne(_ name: String) -> Bool { prefixes.contains { name.hasPrefix($0) } }
}
