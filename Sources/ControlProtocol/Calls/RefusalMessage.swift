/// Something that a sender tried, and that was refused: a push, or a connection.
package struct RefusalMessage: Codable, Equatable, Sendable {
    /// When: ``UTCTime`` as text.
    package var at: String
    /// The push's ID; nil if the connection failed before a push.
    package var pushId: String?
    /// The sender's address and port.
    package var peer: String
    /// Environment of the port: `development` or `production`.
    package var environment: String
    /// The sender's team, as far as it was known. It may be a claim only.
    package var team: String?
    /// The answer, in APNs' words, or why the connection failed.
    package var reason: String
    /// What was wrong, for people.
    package var cause: String

    package init(
        at: String, pushId: String?, peer: String, environment: String, team: String?, reason: String, cause: String
    ) {
        self.at = at
        self.pushId = pushId
        self.peer = peer
        self.environment = environment
        self.team = team
        self.reason = reason
        self.cause = cause
    }
}

/// Refusals since the start, the newest first. The daemon keeps 1,000.
package struct RefusalListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var refusals: [RefusalMessage]

    package init(refusals: [RefusalMessage]) {
        self.refusals = refusals
    }
}
