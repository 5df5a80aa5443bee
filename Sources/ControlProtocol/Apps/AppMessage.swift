/// One app, as its owner sees it.
package struct AppMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its bundle id.
    package var app: String
    /// The topic of its VoIP pushes.
    package var topic: String
    /// How it is woken: `exec`, `transient` (the same command in a unit of its own), `unit`, `dbus`, `socket`, or
    /// `connected` (only by the stream that its handler keeps).
    package var way = "exec"
    /// What is started to wake it, for a person: a command, a unit, a bus name, a socket.
    package var wake = ""
    /// Of `exec` and `transient`: what is started, a path and its arguments; else empty.
    package var exec: [String]
    /// How many handlers it has at a time: `app` (one) or `call` (one for each call).
    package var instances = "app"
    /// The name of the layout that its payloads have, where its file names one.
    package var payload: String?
    /// How many of its handlers keep a connection now.
    package var connected = 0
    /// What its handlers did not do.
    package var strikes = StrikesMessage()
    /// Its level, as a content rating; nil where its file gives none.
    package var level: Int?
    /// The teams whose keys or certificates may push to it.
    package var teams: [String] = []
    /// `registered`, or `unregistered` once it was removed.
    package var state: String
    /// Its device tokens in hex, by environment.
    package var tokens: [String: String]
    /// The file that configures it.
    package var file: String
    /// Whether it can reach what it has to; nil where that is not known, and of an app that was removed.
    package var connection: ConnectionMessage?
}

extension AppMessage {
    /// An app that is registered and has no tokens yet.
    package init(app: String, topic: String, exec: [String], file: String) {
        self.init(app: app, topic: topic, exec: exec, state: "registered", tokens: [:], file: file)
    }
}

/// The strikes against an app's handler.
package struct StrikesMessage: Codable, Equatable, Sendable {
    /// How many count now.
    package var count: Int
    /// With how many its handler is not started any more; 0: never.
    package var limit: Int
    /// Milliseconds for which a strike counts.
    package var windowMs: Int64
    /// Whether its handler is not started any more, until the strikes are cleared.
    package var struckOut: Bool
    /// Those that count, the oldest first.
    package var recent: [StrikeMessage]

    package init(
        count: Int = 0, limit: Int = 0, windowMs: Int64 = 0, struckOut: Bool = false, recent: [StrikeMessage] = []
    ) {
        self.count = count
        self.limit = limit
        self.windowMs = windowMs
        self.struckOut = struckOut
        self.recent = recent
    }
}

/// One strike.
package struct StrikeMessage: Codable, Equatable, Sendable {
    /// Milliseconds since it happened.
    package var agoMs: Int64
    /// What the handler did not do: `HandlerFailure` as text.
    package var failure: String
    /// The call that it did not do it for.
    package var call: String

    package init(agoMs: Int64, failure: String, call: String) {
        self.agoMs = agoMs
        self.failure = failure
        self.call = call
    }
}

/// The answer to a change of what is kept for an app.
package struct AppStateMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its bundle id.
    package var app: String
    /// How many octets are kept for it now.
    package var bytes: Int

    package init(app: String, bytes: Int) {
        self.app = app
        self.bytes = bytes
    }
}

/// All apps, by bundle id.
package struct AppListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var apps: [AppMessage]

    package init(apps: [AppMessage]) {
        self.apps = apps
    }
}

/// The answer to a reload: what is in force now.
package struct ReloadMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The apps that are configured now.
    package var apps: [String]
    /// Settings that changed in the file and need a restart to take effect.
    package var needsRestart: [String]

    package init(apps: [String], needsRestart: [String]) {
        self.apps = apps
        self.needsRestart = needsRestart
    }
}
