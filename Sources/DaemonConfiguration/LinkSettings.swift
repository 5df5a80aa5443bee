package import HTTPServer
package import RingwakeCore

/// What a daemon does.
package enum DaemonRole: String, Sendable, CaseIterable {
    /// It takes pushes for its own apps and, with `[gateway]`, for linked devices.
    case both
    /// It takes pushes for its own apps from its gateway only.
    case device
    /// It takes pushes for linked devices, and has no apps.
    case gateway
}

/// The `[gateway]` table.
package struct GatewaySettings: Sendable, Equatable {
    /// Who may pair.
    package enum Admission: String, Sendable, CaseIterable {
        /// Who has the code of an invitation.
        case invite
        /// Everybody.
        case open
    }

    /// Where links are accepted; nil: on no port of their own.
    package var listen: SocketAddress?
    /// Whether links are accepted on the ports for pushes too, by ALPN.
    package var onPushPorts = false
    /// What devices connect to, as `host:port`.
    package var address: String?
    package var admission = Admission.invite
    /// How long a push waits for the acknowledgement of its device before it is written.
    package var hold: Duration = .milliseconds(50)

    /// The time between two keep-alives on a network about which nothing is known, and the shortest and longest that may
    /// be learned. Nil: what fits most networks.
    package var keepAliveStart: Duration?
    package var keepAliveShortest: Duration?
    package var keepAliveLongest: Duration?

    /// Whether devices may keep what only they have, if they and this gateway disagree.
    package var allowsRecovery = true

    package init() {}

    /// Whether devices can link at all.
    package var isOn: Bool { listen != nil || onPushPorts }
}

/// The `[link]` table.
package struct LinkSettings: Sendable, Equatable {
    /// The port that the device connects from; 0: any.
    package var localPort = 0
    /// The environments in which apps have tokens at the gateway.
    package var environments = [PushEnvironment.production]
    /// What the device is called at its gateway; nil: its host name.
    package var name: String?
    /// What to do when the device and its gateway disagree about registrations.
    package var onDisagreement = ResetMode.recover
    /// Programs that are told of it, before and after.
    package var beforeReset: [String]?
    package var afterReset: [String]?

    /// See ``onDisagreement``.
    package enum ResetMode: String, Sendable, CaseIterable {
        case recover
        case recoverOrDiscard = "recover-or-discard"
        case discard
        case manual
    }

    package init() {}
}
