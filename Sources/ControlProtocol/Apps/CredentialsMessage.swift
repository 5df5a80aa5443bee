/// What an app tells its server, to be reached on this device: for the app itself.
package struct CredentialsMessage: Codable, Equatable, Sendable {
    /// One device token, and where a sender pushes to it.
    package struct Credential: Codable, Equatable, Sendable {
        /// `development` or `production`: the host of the provider API for which the token is valid.
        package var environment: String
        /// 64 hex digits.
        package var token: String
        /// The host name or numeric address, without brackets, that senders connect to. Nil if the daemon can't know it,
        /// and of a daemon that doesn't say it.
        package var host: String?
        /// The TCP port that senders connect to, not 0; nil as ``host``.
        package var port: UInt16?
        /// PEM of the CAs by which senders check the server's certificate, at most 32 KiB; nil if their system's CAs do, or
        /// if it isn't known.
        package var certificateAuthorities: String?

        package init(
            environment: String, token: String, host: String? = nil, port: UInt16? = nil,
            certificateAuthorities: String? = nil
        ) {
            self.environment = environment
            self.token = token
            self.host = host
            self.port = port
            self.certificateAuthorities = certificateAuthorities
        }
    }

    package var schema = ControlAPI.schema
    /// Bundle ID of the app.
    package var app: String
    /// The topic of its VoIP pushes.
    package var topic: String
    /// Teams whose keys or certificates may push to it.
    package var teams: [String]
    /// Its tokens, sorted by environment.
    package var credentials: [Credential]
    /// What the app's vendor knows this device by, a UUID; nil while it is unknown.
    package var vendorIdentifier: String?

    package init(
        app: String, topic: String, teams: [String], credentials: [Credential], vendorIdentifier: String? = nil
    ) {
        self.app = app
        self.topic = topic
        self.teams = teams
        self.credentials = credentials
        self.vendorIdentifier = vendorIdentifier
    }
}

/// The parameters that a SIP client adds to its Contact URI, so that the SIP server can push to it.
///
/// See RFC 8599 § 10: `pn-provider` is `apns`; `pn-param` is team ID and topic, separated by a period (the topic is the
/// bundle ID and the service `voip`, separated by a period); `pn-prid` is the device token.
package struct PushContact: Equatable, Sendable {
    package let provider = "apns"
    package let parameter: String
    package let resourceID: String

    package init(team: String, topic: String, token: String) {
        parameter = "\(team).\(topic)"
        resourceID = token
    }

    /// All parameters, as in the URI.
    package var parameters: String { "pn-provider=\(provider);pn-param=\(parameter);pn-prid=\(resourceID)" }
}
