package import RingwakeCore

/// How the audio sessions stand, and the server that they are carried out on.
///
/// The owner is told all of it. Other local users are not told what devices are called, nor where the server is.
package struct AudioStatusMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// What the configuration says: `program` (the daemon starts `ringwake-audio`), `socket` (it connects to the one of
    /// the user's session) or `none` (sessions are kept and handlers told, and no server is touched).
    package var backend: String
    /// - `off`: the back end is `none`;
    /// - `idle`: nothing needs a server, and there is no connection;
    /// - `starting`: the connection is being made;
    /// - `connected`;
    /// - `unavailable`: there is no server, or it refuses us; `why` says it;
    /// - `lost`: the server went away, and is connected to as soon as it is back.
    package var state: String
    /// Why it is not connected, for a person.
    package var why: String?
    /// The process of `ringwake-audio`; nil while none runs, or where it is another's.
    package var pid: Int32?
    /// The server; nil while there is no connection.
    package var server: Server?
    /// The route that counts; nil while there is no connection.
    package var route: AudioRouteMessage?
    /// The output that the user has chosen; nil: none in particular.
    package var output: String?
    /// Sessions that are open, and those of them that are active; the call's is among them.
    package var sessions = 0
    package var active = 0
    /// Whether the audio of a call is active.
    package var call = false
    /// Changes of the server that are in force now, and are put back later.
    package var effects = 0
    /// What happened since the daemon's start.
    package var counters = Counters()

    /// The same for those who may not know what the user's devices are called.
    package var withoutNames: AudioStatusMessage {
        var message = self
        message.server?.location = nil
        message.route = route?.withoutNames
        message.output = nil
        // Where the server is, and what the user's folders are called, stands in it.
        message.why = nil
        return message
    }
}

extension AudioStatusMessage {
    /// With no session, no connection and nothing done yet.
    package init(backend: String, state: String) {
        self.backend = backend
        self.state = state
    }

    /// An audio server, as it describes itself. Untrusted text.
    package struct Server: Codable, Equatable, Sendable {
        /// Such as `pulseaudio`, or `PulseAudio (on PipeWire 0.3.65)`.
        package var name: String
        package var version: String
        /// Whom it runs as, where and on which host, as far as known.
        package var location: String?
    }

    /// Counts since the daemon's start.
    package struct Counters: Codable, Equatable, Sendable {
        package static let zero = Counters()

        /// Times that the audio of a call became active.
        package var activations: UInt64 = 0
        /// From the fulfilled answer until the server had acknowledged all, in microseconds: of all of these together, and
        /// of the one that took longest.
        package var activationUs: Int64 = 0
        package var longestActivationUs: Int64 = 0
        /// Times that a session could not be activated, or was lost: by the name of the error's code.
        package var failures: [String: UInt64] = [:]
        /// Changes of the server: made; put back; and left as they were, because the user had changed them meanwhile.
        package var effectsMade: UInt64 = 0
        package var effectsUndone: UInt64 = 0
        package var effectsLeft: UInt64 = 0
    }
}

/// Where sound goes, and where it comes from.
package struct AudioRouteMessage: Codable, Equatable, Sendable {
    package var inputs: [AudioPortMessage] = []
    package var outputs: [AudioPortMessage] = []

    package var withoutNames: AudioRouteMessage {
        AudioRouteMessage(
            inputs: inputs.map { AudioPortMessage(kind: $0.kind) },
            outputs: outputs.map { AudioPortMessage(kind: $0.kind) })
    }
}

/// One port of one device.
package struct AudioPortMessage: Codable, Equatable, Sendable {
    /// `AudioPort.Kind` as text: `builtInSpeaker`, `builtInReceiver`, `headset`, `bluetoothHFP`, ...
    package var kind: String
    /// The server's name of the sink or source; nil for those who may not know it.
    package var device: String?
    /// The server's name of the port on it; nil where it has none.
    package var port: String?
    /// What it is called, for a person. Untrusted text.
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
            inputs: route.inputs.map { AudioPortMessage($0) }, outputs: route.outputs.map { AudioPortMessage($0) })
    }
}

extension AudioPortMessage {
    package init(_ port: AudioPort) {
        self.init(kind: port.kind.rawValue, device: port.device, port: port.port, name: port.name)
    }
}
