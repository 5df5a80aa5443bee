package import RingwakeCore

/// One audio session.
package struct AudioSessionMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Names it for as long as the daemon runs.
    package var id: UInt64
    /// What its client is called: an app, a command. Untrusted text.
    package var name: String
    /// The app whose handler opened it, or whose call it is; nil of others.
    package var app: String?
    /// The call that it belongs to; nil of all others.
    package var call: String?
    /// The client's processes: their streams, and those of their children, are the session's.
    package var pids: [Int32]
    package var category: String
    package var mode: String
    /// As they were given, in alphabetical order.
    package var options: [String]
    package var preferredOutput: String?
    package var preferredInput: String?
    /// `inactive`, `activating`, `active`, `interrupted`, `deactivating` or `lost`.
    package var state: String
    /// Of one that is active: where its sound goes and comes from.
    package var route: AudioRouteMessage?
    /// For how many milliseconds it has been open.
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

/// The sessions that are open, the oldest first.
package struct AudioSessionListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var sessions: [AudioSessionMessage]

    package init(sessions: [AudioSessionMessage]) {
        self.sessions = sessions
    }
}

/// One line of the stream that opening a session answers with: what its client is told.
package struct AudioNoticeMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// - `opened`: the first line, with the session's `id`;
    /// - `active`: it is active; with its `route`;
    /// - `inactive`: it is not any more, as its client asked for;
    /// - `interrupted`: another one's turn (`reason`), and it is silent;
    /// - `interruptionEnded`: it may be activated again; whether it should, says `shouldResume`;
    /// - `routeChanged`: its sound goes, or comes from, elsewhere, for a `reason`;
    /// - `silenceHint`: another session that is not mixable plays, or does not any more (`silence`);
    /// - `lost`: the audio server went away;
    /// - `reset`: it is there again. The session has its configuration and is inactive;
    /// - `error`: it could not be activated as the request for the stream said; `code`, `number` and `message` say why.
    package var event: String
    /// Of `opened`.
    package var id: UInt64?
    package var route: AudioRouteMessage?
    /// Of `routeChanged`: the route before.
    package var previous: AudioRouteMessage?
    /// Of `interrupted`: `AudioInterruptionReason` as text. Of `routeChanged`: `AudioRouteChangeReason` as text.
    package var reason: String?
    /// Of `error`: Apple's number of the code. Of `routeChanged`: Apple's number of the reason.
    package var number: Int32?
    package var shouldResume: Bool?
    package var silence: Bool?
    /// Of `error`: the name of the code.
    package var code: String?
    /// Of `error`: what happened, and what to do.
    package var message: String?
}

extension AudioNoticeMessage {
    package init(event: String) { self.event = event }

    package init(opened id: AudioSessionID) {
        self.init(event: "opened", id: id.number)
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
        case .secondaryAudioShouldBeSilenced(let isSilent): self.init(event: "silenceHint", silence: isSilent)
        case .mediaServicesWereLost: self.init(event: "lost")
        case .mediaServicesWereReset: self.init(event: "reset")
        }
    }
}
