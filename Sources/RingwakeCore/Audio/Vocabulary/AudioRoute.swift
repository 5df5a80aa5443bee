/// Where sound goes, or comes from: one port of one device.
public struct AudioPort: Hashable, Sendable, Codable {
    /// The kind of a port, as far as its server reports it: AVAudioSession's port types.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        case builtInSpeaker
        /// The earpiece of a telephone.
        case builtInReceiver
        case builtInMicrophone
        case headphones
        /// A wired headset: its microphone, and its output if the server distinguishes it from headphones.
        case headset
        case bluetoothA2DP
        case bluetoothHFP
        case usb
        case hdmi
        case lineOut
        case lineIn
        /// A device of unknown kind: a null sink, a network sink.
        case other

        /// Whether sound can go there.
        package var isOutput: Bool { self != .builtInMicrophone && self != .lineIn }
    }

    public let kind: Kind
    /// The server's name of the sink or source. It is stable while the device and its profile are.
    public let device: String
    /// The server's name of the port on that device; nil if the device has no ports.
    public let port: String?
    /// The name for a person. Untrusted text.
    public let name: String

    public init(kind: Kind, device: String, port: String? = nil, name: String) {
        self.kind = kind
        self.device = device
        self.port = port
        self.name = name
    }
}

/// Where a session's sound goes and comes from.
public struct AudioRoute: Hashable, Sendable, Codable {
    public var inputs: [AudioPort]
    public var outputs: [AudioPort]
    /// Whether there is an input that the session can record from, now or once its category records; AVAudioSession's
    /// `isInputAvailable`. False: no microphone is connected. True while it is not known, as without an audio server.
    public var isInputAvailable: Bool

    public init(inputs: [AudioPort] = [], outputs: [AudioPort] = [], isInputAvailable: Bool = true) {
        self.inputs = inputs
        self.outputs = outputs
        self.isInputAvailable = isInputAvailable
    }

    /// Whether both have the same inputs and outputs.
    package func hasSamePorts(as other: AudioRoute) -> Bool { inputs == other.inputs && outputs == other.outputs }

    private enum CodingKeys: String, CodingKey { case inputs, outputs, isInputAvailable }

    // Earlier versions have no `isInputAvailable`; it is left out if it is true.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            inputs: try container.decode([AudioPort].self, forKey: .inputs),
            outputs: try container.decode([AudioPort].self, forKey: .outputs),
            isInputAvailable: try container.decodeIfPresent(Bool.self, forKey: .isInputAvailable) ?? true)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(inputs, forKey: .inputs)
        try container.encode(outputs, forKey: .outputs)
        if !isInputAvailable { try container.encode(false, forKey: .isInputAvailable) }
    }
}

/// Why the route changed: AVAudioSession's route change reasons, with its numbers.
public enum AudioRouteChangeReason: String, Sendable, Codable, CaseIterable {
    case unknown, newDeviceAvailable, oldDeviceUnavailable, categoryChange, override, wakeFromSleep
    case noSuitableRouteForCategory, routeConfigurationChange

    /// `AVAudioSession.RouteChangeReason`'s raw value.
    public var number: Int {
        switch self {
        case .unknown: 0
        case .newDeviceAvailable: 1
        case .oldDeviceUnavailable: 2
        case .categoryChange: 3
        case .override: 4
        case .wakeFromSleep: 6
        case .noSuitableRouteForCategory: 7
        case .routeConfigurationChange: 8
        }
    }
}

/// Why a session was interrupted.
public enum AudioInterruptionReason: String, Sendable, Codable, CaseIterable {
    /// Another session became active.
    case `default`
    /// The built-in microphone was muted in hardware.
    case builtInMicMuted
    /// The device that the session played on is gone.
    case routeDisconnected
}
