/// What a session is: category, mode, options, and the devices that it would like.
public struct AudioSessionConfiguration: Hashable, Sendable, Codable {
    public let category: AudioCategory
    public let mode: AudioMode
    /// As they were given; ``effectiveOptions`` has what follows from them.
    public let options: Set<AudioOption>
    /// The output that it would like: a ``AudioPort/device``, or the name of a ``AudioPort/Kind``.
    public let preferredOutput: String?
    /// The input that it would like, in the same way.
    public let preferredInput: String?

    /// What a new session has.
    public static let standard = AudioSessionConfiguration(fitting: .soloAmbient, .default)
    /// What a call by voice has if its handler does not say.
    static let voiceCall = AudioSessionConfiguration(fitting: .playAndRecord, .voiceChat)
    /// What a call with video has if its handler does not say.
    static let videoCall = AudioSessionConfiguration(fitting: .playAndRecord, .videoChat)
    /// What ringing has: it plays, and takes no microphone.
    static let ringing = AudioSessionConfiguration(fitting: .playback, .default)

    /// A mode that fits its category.
    private init(fitting category: AudioCategory, _ mode: AudioMode) {
        self.category = category
        self.mode = mode
        options = []
        preferredOutput = nil
        preferredInput = nil
    }

    /// - Throws: `badParam`: the mode or an option does not fit the category, or a name is too long.
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

    /// The most bytes of a device's name.
    public static let maximumNameBytes = 256

    /// The options that were given, and those that category, mode and options bring along.
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

    /// Whether its route is cut to what is fit for voice.
    public var isVoice: Bool { mode == .voiceChat || mode == .videoChat || mode == .gameChat }

    private enum CodingKeys: String, CodingKey {
        case category, mode, options, preferredOutput, preferredInput
    }

    // What a file or a peer says goes through the same door.
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
