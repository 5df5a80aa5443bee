/// What a session plays or records, and whether others may play at the same time; AVAudioSession's category.
public enum AudioCategory: String, Sendable, Codable, CaseIterable {
    /// Plays together with others; the silent switch silences it.
    case ambient
    /// Plays alone; the silent switch silences it. The category of a new session.
    case soloAmbient
    /// Plays alone: music, speech.
    case playback
    /// Records; nearly all output is silenced.
    case record
    /// Records and plays: calls.
    case playAndRecord
    /// Plays on several outputs at a time. The state machine supports it; the server treats it as `playback`.
    case multiRoute

    /// Whether it uses the microphone.
    public var hasInput: Bool {
        switch self {
        case .record, .playAndRecord, .multiRoute: true
        case .ambient, .soloAmbient, .playback: false
        }
    }

    /// Whether it plays sound.
    public var hasOutput: Bool { self != .record }
}

/// The purpose of a session within its category; AVAudioSession's mode.
public enum AudioMode: String, Sendable, Codable, CaseIterable {
    /// Fits every category.
    case `default`
    /// A voice call: hands-free devices are allowed, and the route is limited to devices that suit voice.
    case voiceChat
    /// A video call: as `voiceChat`, with the speaker instead of the receiver.
    case videoChat
    /// A game's voice chat. The state machine supports it; the server treats it as `default`.
    case gameChat
    /// Recording a film.
    case videoRecording
    /// Playing a film.
    case moviePlayback
    /// Speech, such as an audio book. It is interrupted rather than ducked.
    case spokenAudio
    /// Measurement. The state machine supports it; the server treats it as `default`.
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

/// How a session treats others, and which devices it may use; AVAudioSession's category options.
public enum AudioOption: String, Sendable, Codable, CaseIterable {
    /// The session neither interrupts others that are not mixable nor is interrupted by them. A call still interrupts
    /// it.
    case mixWithOthers
    /// Others are quieter while the session is active. Implies `mixWithOthers`.
    case duckOthers
    /// Interrupts sessions in mode `spokenAudio`, and no others. Implies `mixWithOthers`.
    case interruptSpokenAudioAndMixWithOthers
    /// Hands-free Bluetooth devices (HFP) are eligible; the card's profile changes on activation.
    case allowBluetoothHFP
    /// Bluetooth outputs (A2DP) are eligible, with another microphone; HFP wins if both are allowed.
    case allowBluetoothA2DP
    /// Use the speaker instead of the receiver if nothing else is attached.
    case defaultToSpeaker
    /// Muting the microphone in hardware does not interrupt the session.
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
