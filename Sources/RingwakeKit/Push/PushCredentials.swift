internal import ControlProtocol

/// What a sender needs to reach the app on this device: PushKit's `PKPushCredentials`, with topic and teams.
public struct PushCredentials: Hashable, Sendable {
    /// One of the provider API's two hosts.
    public struct Environment: Vocabulary {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let development = Environment(rawValue: "development")
        public static let production = Environment(rawValue: "production")
    }

    /// The device token: 64 hex digits.
    public let token: String
    /// The environment that the token is for.
    public let environment: Environment
    /// The topic for pushes: the bundle id and `.voip`.
    public let topic: String
    /// The teams that may send pushes to the app.
    public let teams: [String]

    package init(token: String, environment: Environment, topic: String, teams: [String]) {
        self.token = token
        self.environment = environment
        self.topic = topic
        self.teams = teams
    }

    /// The parameters that a SIP client adds to the URI in its Contact, so that its SIP server can send it pushes:
    /// `pn-provider=apns;pn-param=TEAM.TOPIC;pn-prid=TOKEN`. Uses the first of ``teams``; empty if there is none.
    ///
    /// See [RFC 8599 § 10](https://www.rfc-editor.org/rfc/rfc8599#section-10).
    public var contactParameters: String { teams.first.map(contactParameters(team:)) ?? "" }

    /// The same with another of the teams.
    public func contactParameters(team: String) -> String {
        PushContact(team: team, topic: topic, token: token).parameters
    }
}
