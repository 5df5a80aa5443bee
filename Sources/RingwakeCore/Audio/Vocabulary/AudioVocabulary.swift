/// What a session plays or records, and whether others may be heard beside it; AVAudioSession's category.
public enum AudioCategory: String, Sendable, Codable, CaseIterable {
    /// Plays beside others, and falls silent with the silent switch.
    case ambient
    /// Plays alone, and falls silent with the silent switch. What a new session has.
    case soloAmbient
    /// Plays alone: music, speech.
    case playback
    /// Records; nearly all output is silenced.
    case record
    /// Records and plays: calls.
    case playAndRecord
    /// Plays on several outputs at a time. The state machine knows it; on a server it is `playback`.
    case multiRoute

    /// Whether it takes the microphone.
    public var hasInput: Bool {
        switch self {
        case .record, .playAndRecord, .multiRoute: true
        case .ambient, .soloAmbient, .playback: false
        }
    }

    /// Whether it makes sound.
    public var hasOutput: Bool { self != .record }
}

/// What a session is for within its category; AVAudioSession's mode.
public enum AudioMode: String, Sendable, Codable, CaseIterable {
    /// Fits every category.
    case `default`
    /// A call by voice: hands-free devices are allowed, and the route is one fit for voice.
    case voiceChat
    /// A call with video: as `voiceChat`, and the speaker instead of the receiver.
    case videoChat
    /// A game's voice chat. The state machine knows it; on a server it is `default`.
    case gameChat
    /// Recording a film.
    case videoRecording
    /// Playing a film.
    case moviePlayback
    /// Speech that is to be interrupted rather than ducked: an audio book.
    case spokenAudio
    /// Measuring. The state machine knows it; on a server it is `default`.
    case measurement

    /// The categories that it fits.
    public var categories: Set<AudioCategory> {
        switch self {
        case .default: Set(AudioCategory.allCases)
        case .voiceChat, .videoChat, .gameChat: [.playAndRecord]
        case .videoRecording: [.playAndRecord, .record]
        case .moviePlayback, .spokenAudio: [.playback]
        case .measurement: [.playAndRecord, .record, .playback]
        }
    }
}

/// How a session gets along with others, and which devices it may use; AVAudioSession's category options.
public enum AudioOption: String, Sendable, Codable, CaseIterable {
    /// It neither interrupts nor is interrupted by others that are not mixable; a call still interrupts it.
    case mixWithOthers
    /// Others are quieter from its activation to its deactivation. Implies `mixWithOthers`.
    case duckOthers
    /// Sessions in mode `spokenAudio` are interrupted, all others heard. Implies `mixWithOthers`.
    case interruptSpokenAudioAndMixWithOthers
    /// Hands-free Bluetooth devices (HFP) are eligible; the card's profile changes on activation.
    case allowBluetoothHFP
    /// Bluetooth outputs (A2DP) are eligible, with another microphone; HFP wins if both are allowed.
    case allowBluetoothA2DP
    /// The speaker instead of the receiver where nothing else is attached.
    case defaultToSpeaker
    /// A microphone that is muted in hardware does not interrupt.
    case overrideMutedMicrophoneInterruption

    /// The categories that it is allowed in.
    public var categories: Set<AudioCategory> {
        switch self {
        case .mixWithOthers, .duckOthers, .interruptSpokenAudioAndMixWithOthers:
            [.playAndRecord, .playback, .multiRoute]
        case .allowBluetoothHFP, .overrideMutedMicrophoneInterruption: [.record, .playAndRecord]
        case .allowBluetoothA2DP, .defaultToSpeaker: [.playAndRecord]
        }
    }
}
