/// What a sender needs to reach an app on this device, as the app itself may see it.
package struct CredentialsMessage: Codable, Equatable, Sendable {
    /// One device token.
    package struct Credential: Codable, Equatable, Sendable {
        /// `development` or `production`: which of the provider API's two hosts it is for.
        package var environment: String
        /// 64 hex digits.
        package var token: String

        package init(environment: String, token: String) {
            self.environment = environment
            self.token = token
        }
    }

    package var schema = ControlAPI.schema
    /// The app's bundle id.
    package var app: String
    /// The topic of its VoIP pushes.
    package var topic: String
    /// The teams whose keys or certificates may push to it.
    package var teams: [String]
    /// Its tokens, by the name of their environment.
    package var credentials: [Credential]

    package init(app: String, topic: String, teams: [String], credentials: [Credential]) {
        self.app = app
        self.topic = topic
        self.teams = teams
        self.credentials = credentials
    }
}

/// What a SIP client adds to the URI in its Contact, so that its SIP server can push to it.
///
/// See RFC 8599 § 10: `pn-provider` is `apns`; `pn-param` is team id and topic, separated by a period, the topic being
/// the bundle id and the service `voip`, separated by a period; `pn-prid` is the device token.
package struct PushContact: Equatable, Sendable {
    package let provider = "apns"
    package let parameter: String
    package let resourceID: String

    package init(team: String, topic: String, token: String) {
        parameter = "\(team).\(topic)"
        resourceID = token
    }

    /// All of them, as they stand in the URI.
    package var parameters: String { "pn-provider=\(provider);pn-param=\(parameter);pn-prid=\(resourceID)" }
}
