package import RingwakeCore

/// One audio session.
package struct AudioSessionMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Unique while the daemon runs.
    package var id: UInt64
    /// Name of its client: an app, a command. Untrusted text.
    package var name: String
    /// App whose handler opened it or whose call it is; nil for others.
    package var app: String?
    /// Its call; nil if it isn't a call's session.
    package var call: String?
    /// The client's processes. Streams of these processes and their children belong to the session.
    package var pids: [Int32]
    package var category: String
    package var mode: String
    /// In alphabetical order.
    package var options: [String]
    package var preferredOutput: String?
    package var preferredInput: String?
    /// `inactive`, `activating`, `active`, `interrupted`, `deactivating` or `lost`.
    package var state: String
    /// Route of an active session.
    package var route: AudioRouteMessage?
    /// Milliseconds since it was opened.
    package var openMs: Int64

    package init(
        id: UInt64, name: String, app: String? = nil, call: String? = nil, pids: [Int32] = [],
        configuration: AudioSessionConfiguration, state: String, route: AudioRouteMessage? = nil, openMs: Int64
    ) {
        self.id = id
        self.name = name
        self.app = app
        self.call = call
        self.pids = pids.sorted()
        category = configuration.category.rawValue
        mode = configuration.mode.rawValue
        options = configuration.options.map(\.rawValue).sorted()
        preferredOutput = configuration.preferredOutput
        preferredInput = configuration.preferredInput
        self.state = state
        self.route = route
        self.openMs = openMs
    }
}

/// The open sessions: the calls' session first, then the others, oldest first.
package struct AudioSessionListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var sessions: [AudioSessionMessage]

    package init(sessions: [AudioSessionMessage]) {
        self.sessions = sessions
    }
}

/// One line of a session's stream.
package struct AudioNoticeMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// - `opened`: the first line, with the session's `id`, and `isInputAvailable` if no microphone is connected;
    /// - `active`: the session is active; with its `route`;
    /// - `inactive`: the session was deactivated, as its client requested;
    /// - `interrupted`: another session interrupted it (`reason`), and it is silent;
    /// - `interruptionEnded`: it may be activated again; `shouldResume` says whether it should;
    /// - `routeChanged`: its input or output has changed, for a `reason`;
    /// - `inputAvailabilityChanged`: a microphone was connected, or the last one removed, or it became known that there is
    ///   none (`isInputAvailable`). Also sent to a session that isn't active;
    /// - `silenceHint`: another, non-mixable session started or stopped playing (`silence`);
    /// - `lost`: the audio server is gone;
    /// - `reset`: the audio server is back. The session keeps its configuration and is inactive;
    /// - `error`: the activation or configuration that the opening requested failed; `code`, `number` and `message` say
    ///   why.
    package var event: String
    /// Only with `opened`.
    package var id: UInt64?
    package var route: AudioRouteMessage?
    /// Only with `routeChanged`: the former route.
    package var previous: AudioRouteMessage?
    /// With `interrupted`: `AudioInterruptionReason` as text. With `routeChanged`: `AudioRouteChangeReason` as text.
    package var reason: String?
    /// With `error`: Apple's number of the code. With `routeChanged`: Apple's number of the reason.
    package var number: Int32?
    package var shouldResume: Bool?
    package var silence: Bool?
    /// With `inputAvailabilityChanged`, and with `opened` if it is false.
    package var isInputAvailable: Bool?
    /// Only with `error`: the name of the code.
    package var code: String?
    /// Only with `error`: what happened, and what to do.
    package var message: String?
}

extension AudioNoticeMessage {
    package init(event: String) { self.event = event }

    package init(opened id: AudioSessionID, isInputAvailable: Bool = true) {
        self.init(event: "opened", id: id.number, isInputAvailable: isInputAvailable ? nil : false)
    }

    package init(active route: AudioRoute) {
        self.init(event: "active", route: AudioRouteMessage(route))
    }

    package init(_ error: AudioSessionError) {
        self.init(event: "error", number: error.code.number, code: error.code.rawValue, message: error.message)
    }

    package init(_ notice: AudioNotice) {
        switch notice {
        case .interruptionBegan(let reason): self.init(event: "interrupted", reason: reason.rawValue)
        case .interruptionEnded(let shouldResume): self.init(event: "interruptionEnded", shouldResume: shouldResume)
        case .routeChanged(let reason, let previous, let current):
            self.init(
                event: "routeChanged", route: AudioRouteMessage(current), previous: AudioRouteMessage(previous),
                reason: reason.rawValue, number: Int32(clamping: reason.number))
        case .inputAvailabilityChanged(let isAvailable):
            self.init(event: "inputAvailabilityChanged", isInputAvailable: isAvailable)
        case .secondaryAudioShouldBeSilenced(let isSilent): self.init(event: "silenceHint", silence: isSilent)
        case .mediaServicesWereLost: self.init(event: "lost")
        case .mediaServicesWereReset: self.init(event: "reset")
        }
    }
}
