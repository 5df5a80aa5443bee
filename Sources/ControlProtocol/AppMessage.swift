/// One app, as its owner sees it.
package struct AppMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// Its bundle id.
    package var app: String
    /// The topic of its VoIP pushes.
    package var topic: String
    /// What is started to wake it: a path and its arguments.
    package var exec: [String]
    /// `registered`, or `unregistered` once it was removed.
    package var state: String
    /// Its device tokens in hex, by environment.
    package var tokens: [String: String]
    /// The file that configures it.
    package var file: String
    /// Whether it can reach what it has to; nil where that is not known, and of an app that was removed.
    package var connection: ConnectionMessage?

    package init(
        app: String, topic: String, exec: [String], state: String, tokens: [String: String], file: String,
        connection: ConnectionMessage? = nil
    ) {
        self.app = app
        self.topic = topic
        self.exec = exec
        self.state = state
        self.tokens = tokens
        self.file = file
        self.connection = connection
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
