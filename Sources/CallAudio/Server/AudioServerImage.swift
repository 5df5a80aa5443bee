package import RingwakeCore

/// What is known of an audio server at one time: its mirror. A value, so that what to do about it is decided without it.
///
/// Indexes mean something only together with ``cookie``: another instance of the server gives them to other things.
package struct AudioServerImage: Hashable, Sendable {
    /// Names this instance of the server.
    package var cookie: UInt32
    package var server: AudioServerDescription
    /// The server is PipeWire behind the same protocol.
    package var isPipeWire: Bool
    /// Names of the devices in force as the default; nil where there are none.
    package var defaultSink: String?
    package var defaultSource: String?
    package var cards: [UInt32: Card] = [:]
    package var sinks: [UInt32: Device] = [:]
    package var sources: [UInt32: Device] = [:]
    /// Sink inputs: what plays.
    package var playing: [UInt32: Stream] = [:]
    /// Source outputs: what records.
    package var recording: [UInt32: Stream] = [:]

    /// Whether something can be used: `unknown` where the device cannot tell.
    package enum Availability: String, Hashable, Sendable, Codable {
        case unknown, no, yes
    }

    /// A sound card, a Bluetooth device.
    package struct Card: Hashable, Sendable {
        package var index: UInt32
        package var name: String
        package var activeProfile: String?
        package var profiles: [Profile]
        package var ports: [Port]
        /// `device.api`, `device.bus`, `device.form_factor`, `device.string` and what else decides something.
        package var properties: [String: String]

        package struct Profile: Hashable, Sendable {
            package var name: String
            package var description: String
            package var priority: UInt32
            package var sinks: UInt32
            package var sources: UInt32
            package var isAvailable: Bool
        }
    }

    /// A connector of a card or of a device.
    package struct Port: Hashable, Sendable {
        package var name: String
        package var description: String
        package var priority: UInt32
        package var availability: Availability
        /// What the server says that it is; `other` where it says nothing.
        package var kind: AudioPort.Kind
        package var isInput: Bool
        /// Of a card's port: the profiles that it is in. Empty for a device's.
        package var profiles: [String] = []
    }

    /// A sink or a source.
    package struct Device: Hashable, Sendable {
        package var index: UInt32
        package var name: String
        package var description: String
        /// The card that it belongs to.
        package var card: UInt32?
        package var ports: [Port]
        package var activePort: String?
        package var isMuted: Bool
        /// One value a channel; 65536 is full.
        package var volume: [UInt32]
        /// Of a source: the sink whose sound it records, by index.
        package var monitors: UInt32?
        package var properties: [String: String]
    }

    /// A sink input or a source output.
    package struct Stream: Hashable, Sendable {
        package var index: UInt32
        package var name: String
        /// The sink or source; nil while it has none, as during each re-route.
        package var device: UInt32?
        /// The process that it belongs to, as it says itself, else its client or the kernel; nil where none of them can.
        package var process: Int32?
        /// The connection that it came over; nil for what the server itself plays or records, and for samples.
        package var client: UInt32? = nil
        /// One value a channel; empty while it is not known: PipeWire says 0 of a new stream until it knows.
        package var volume: [UInt32]
        /// The channels' positions, as PulseAudio numbers them; empty where they are not known.
        package var channels: [Int32] = []
        package var isVolumeWritable: Bool
        package var isMuted: Bool
        package var isCorked: Bool
        /// Under which name the server stores its volume (`module-stream-restore.id`); nil where it does not.
        package var restoreID: String?
        /// `application.name`, `application.process.binary`, `media.role`, `media.name` and what else decides something.
        package var properties: [String: String]
    }
}

/// What a server stores of a kind of streams for the next one of it (PulseAudio's stream restore).
package struct StoredStream: Hashable, Sendable, Codable {
    /// Such as `sink-input-by-media-role:music`.
    package var name: String
    /// One value a channel, empty where no volume is stored; and the channels' positions, as PulseAudio numbers them.
    package var volume: [UInt32]
    package var channels: [Int32]
    package var isMuted: Bool
    /// The sink or source that it goes to; nil where none is stored.
    package var device: String?

    package init(name: String, volume: [UInt32], channels: [Int32], isMuted: Bool, device: String?) {
        self.name = name
        self.volume = volume
        self.channels = channels
        self.isMuted = isMuted
        self.device = device
    }
}
