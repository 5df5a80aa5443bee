/// The configuration of a session: category, mode, options and preferred devices.
public struct AudioSessionConfiguration: Hashable, Sendable, Codable {
    public let category: AudioCategory
    public let mode: AudioMode
    /// The options as given. ``effectiveOptions`` adds those that follow from them.
    public let options: Set<AudioOption>
    /// The preferred output: a ``AudioPort/device``, or the name of a ``AudioPort/Kind``.
    public let preferredOutput: String?
    /// The preferred input, in the same form.
    public let preferredInput: String?

    /// The configuration of a new session.
    public static let standard = AudioSessionConfiguration(fitting: .soloAmbient, .default)
    /// The default for a voice call whose handler doesn't configure its session.
    static let voiceCall = AudioSessionConfiguration(fitting: .playAndRecord, .voiceChat)
    /// The default for a video call whose handler doesn't configure its session.
    static let videoCall = AudioSessionConfiguration(fitting: .playAndRecord, .videoChat)
    /// The session of ringing: it plays and doesn't use the microphone.
    static let ringing = AudioSessionConfiguration(fitting: .playback, .default)

    /// For a mode that is known to fit its category.
    private init(fitting category: AudioCategory, _ mode: AudioMode) {
        self.category = category
        self.mode = mode
        options = []
        preferredOutput = nil
        preferredInput = nil
    }

    /// - Throws: `badParam` if the mode or an option does not fit the category, or if a name is too long.
    public init(
        _ category: AudioCategory, mode: AudioMode = .default, options: Set<AudioOption> = [],
        preferredOutput: String? = nil, preferredInput: String? = nil
    ) throws(AudioSessionError) {
        guard mode.categories.contains(category) else {
            throw AudioSessionError(
                .badParam, "the mode \(mode.rawValue) does not fit the category \(category.rawValue)")
        }
        for option in options.sorted(by: { $0.rawValue < $1.rawValue }) where !option.categories.contains(category) {
            throw AudioSessionError(
                .badParam, "the option \(option.rawValue) does not fit the category \(category.rawValue)")
        }
        for name in [preferredOutput, preferredInput].compactMap(\.self) {
            guard (1...AudioSessionConfiguration.maximumNameBytes).contains(name.utf8.count) else {
                throw AudioSessionError(
                    .badParam,
                    "the name of a device has 1 to \(AudioSessionConfiguration.maximumNameBytes) bytes")
            }
        }
        self.category = category
        self.mode = mode
        self.options = options
        self.preferredOutput = preferredOutput
        self.preferredInput = preferredInput
    }

    /// The maximum length of a device's name in bytes.
    public static let maximumNameBytes = 256

    /// The given options, and those that category, mode and options imply.
    public var effectiveOptions: Set<AudioOption> {
        var all = options
        if category == .ambient || options.contains(.duckOthers)
            || options.contains(.interruptSpokenAudioAndMixWithOthers)
        {
            all.insert(.mixWithOthers)
        }
        switch mode {
        case .voiceChat: all.insert(.allowBluetoothHFP)
        case .videoChat: all.formUnion([.allowBluetoothHFP, .defaultToSpeaker])
        default: break
        }
        return all
    }

    /// Whether it neither interrupts nor is interrupted by sessions that are not calls.
    public var isMixable: Bool { effectiveOptions.contains(.mixWithOthers) }

    /// Whether its route is limited to devices that suit voice.
    public var isVoice: Bool { mode == .voiceChat || mode == .videoChat || mode == .gameChat }

    private enum CodingKeys: String, CodingKey {
        case category, mode, options, preferredOutput, preferredInput
    }

    // Decoded values pass the same checks.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            try container.decode(AudioCategory.self, forKey: .category),
            mode: try container.decodeIfPresent(AudioMode.self, forKey: .mode) ?? .default,
            options: try container.decodeIfPresent(Set<AudioOption>.self, forKey: .options) ?? [],
            preferredOutput: try container.decodeIfPresent(String.self, forKey: .preferredOutput),
            preferredInput: try container.decodeIfPresent(String.self, forKey: .preferredInput))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(category, forKey: .category)
        try container.encode(mode, forKey: .mode)
        try container.encode(options.sorted { $0.rawValue < $1.rawValue }, forKey: .options)
        try container.encodeIfPresent(preferredOutput, forKey: .preferredOutput)
        try container.encodeIfPresent(preferredInput, forKey: .preferredInput)
    }
}
