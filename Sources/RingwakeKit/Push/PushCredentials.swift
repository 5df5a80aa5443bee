internal import ControlProtocol

/// What a sender needs to reach the app on this device: PushKit's `PKPushCredentials`, with topic, teams, and the server.
///
/// Apple's servers have one address for all devices. A device of Ringwake has its own, or its gateway's: send ``host``,
/// ``port`` and ``certificateAuthorities`` to your server with the token. A sender posts to
/// `https://HOST:PORT/3/device/TOKEN`, as APNs' provider API has it.
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
    /// The host that a sender connects to: a name in DNS, or a numeric address of IPv4 or IPv6, which needs brackets in a
    /// URL.
    ///
    /// The owner's setting `senders` of ringwaked.toml(5), else what the daemon finds out: the address on which it listens,
    /// or a name that its certificate is for. Nil if the daemon can't know it, as on a device that has a gateway and no such
    /// setting, and with a daemon of an earlier version.
    public let host: String?
    /// The TCP port that a sender connects to, 1 to 65535; nil if it is unknown, as for ``host``.
    public let port: Int?
    /// The CAs that issued the server's certificate: one or more certificates in PEM, at most 32 KiB, never a private key.
    /// A sender trusts them for connections to this ``host``, and for no others.
    ///
    /// Nil if the sender's system has the CA, if it is unknown, and with a daemon of an earlier version: use the CAs of the
    /// system then.
    public let certificateAuthorities: String?

    package init(
        token: String, environment: Environment, topic: String, teams: [String], host: String? = nil, port: Int? = nil,
        certificateAuthorities: String? = nil
    ) {
        self.host = host
        self.port = port
        self.certificateAuthorities = certificateAuthorities
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
