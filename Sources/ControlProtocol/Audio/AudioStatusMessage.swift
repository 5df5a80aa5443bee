package import RingwakeCore

/// The state of the audio sessions and of the audio server.
///
/// The owner gets all of it. Other local users don't get device names or the server's location.
package struct AudioStatusMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// As configured: `program` (the daemon starts `ringwake-audio`), `socket` (it connects to the one of the user's
    /// session) or `none` (sessions and their notifications work, but no server is used).
    package var backend: String
    /// - `off`: the back end is `none`;
    /// - `idle`: nothing needs a server, and there is no connection;
    /// - `starting`: the daemon is connecting;
    /// - `connected`;
    /// - `restoring`: nothing needs the server any more, and ``effects`` are being undone, or wait until the server or a
    ///   player answers;
    /// - `unavailable`: there is no server, or it refuses us; `why` has the reason;
    /// - `lost`: the server is gone; the daemon reconnects as soon as it is back.
    package var state: String
    /// Why it isn't connected, for people.
    package var why: String?
    /// PID of `ringwake-audio`; nil if it isn't running or isn't the daemon's child.
    package var pid: Int32?
    /// The server; nil without a connection.
    package var server: Server?
    /// The present route; nil without a connection.
    package var route: AudioRouteMessage?
    /// The output that the user has chosen; nil means automatic.
    package var output: String?
    /// Numbers of open and of active sessions, including the calls' session.
    package var sessions = 0
    package var active = 0
    /// Whether the audio of a call is active.
    package var call = false
    /// Changes of the server and paused players that are in effect, and are undone later: what the effect journal has,
    /// even if `ringwake-audio` hangs or is gone.
    package var effects = 0
    /// Counters since the daemon's start.
    package var counters = Counters()
}

extension AudioStatusMessage {
    /// Without sessions and connection.
    package init(backend: String, state: String) {
        self.backend = backend
        self.state = state
    }

    /// The audio server's description of itself. Untrusted text.
    package struct Server: Codable, Equatable, Sendable {
        /// For example `pulseaudio`, or `PulseAudio (on PipeWire 0.3.65)`.
        package var name: String
        package var version: String
        /// User, address and host of the server, as far as known.
        package var location: String?
    }

    /// Counts since the daemon's start.
    package struct Counters: Codable, Equatable, Sendable {
        package static let zero = Counters()

        /// Number of activations of calls' audio.
        package var activations: UInt64 = 0
        /// Microseconds from the fulfilled answer until the server had acknowledged everything: the sum of all
        /// activations, and the longest.
        package var activationUs: Int64 = 0
        package var longestActivationUs: Int64 = 0
        /// Number of failed activations and lost sessions, by the name of the error's code.
        package var failures: [String: UInt64] = [:]
        /// Changes of the server: made; restored; and not restored, because the user had changed them meanwhile.
        package var effectsMade: UInt64 = 0
        package var effectsUndone: UInt64 = 0
        package var effectsLeft: UInt64 = 0
    }
}

/// The present inputs and outputs.
package struct AudioRouteMessage: Codable, Equatable, Sendable {
    package var inputs: [AudioPortMessage] = []
    package var outputs: [AudioPortMessage] = []
    /// False: no microphone is connected. Nil: there is an input, also where the session uses none, or it is not known.
    package var isInputAvailable: Bool?
}

/// One port of one device.
package struct AudioPortMessage: Codable, Equatable, Sendable {
    /// `AudioPort.Kind` as text: `builtInSpeaker`, `builtInReceiver`, `headset`, `bluetoothHFP`, ...
    package var kind: String
    /// The server's name of the sink or source.
    package var device: String?
    /// The server's name of the port; nil if it has none.
    package var port: String?
    /// Name for people. Untrusted text.
    package var name: String?
}

extension AudioStatusMessage.Server {
    package init(_ server: AudioServerDescription) {
        self.init(name: server.name, version: server.version, location: server.location)
    }
}

extension AudioRouteMessage {
    package init(_ route: AudioRoute) {
        self.init(
            inputs: route.inputs.map { AudioPortMessage($0) }, outputs: route.outputs.map { AudioPortMessage($0) },
            isInputAvailable: route.isInputAvailable ? nil : false)
    }
}

extension AudioPortMessage {
    package init(_ port: AudioPort) {
        self.init(kind: port.kind.rawValue, device: port.device, port: port.port, name: port.name)
    }
}
