/// A gateway for linked devices.
package struct GatewayMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The port for links; nil if they come on the ports for pushes only.
    package var address: String?
    /// What devices connect to, as `host:port`; nil if this host has no name.
    package var publicAddress: String?
    /// Whether links are accepted on the ports for pushes too.
    package var onPushPorts: Bool
    /// `invite` or `open`.
    package var admission: String
    /// Paired devices, without those that were revoked.
    package var devices: Int
    package var online: Int
    /// Pushes that wait for their devices.
    package var waiting: Int
    package var invitations: Int
    /// Links that were made and that ended, since the start.
    package var linked: UInt64
    package var unlinked: UInt64
    /// Devices that were refused, since the start.
    package var refused: UInt64
    /// Pushes that devices have settled, and pushes that ended without reaching their app, since the start.
    package var acknowledged: UInt64
    package var dropped: UInt64
    /// How long the gateway has been drained; nil if it takes links.
    package var drainedMs: Int64?

    package init(
        address: String?, onPushPorts: Bool, admission: String, devices: Int, online: Int, waiting: Int,
        invitations: Int, linked: UInt64, unlinked: UInt64, refused: UInt64, acknowledged: UInt64, dropped: UInt64
    ) {
        self.address = address
        self.onPushPorts = onPushPorts
        self.admission = admission
        self.devices = devices
        self.online = online
        self.waiting = waiting
        self.invitations = invitations
        self.linked = linked
        self.unlinked = unlinked
        self.refused = refused
        self.acknowledged = acknowledged
        self.dropped = dropped
    }
}

/// A device of a gateway.
package struct LinkedDeviceMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The id of its key.
    package var device: String
    package var name: String
    /// `online`, `offline`, `revoked`, or `moved`: it has another gateway.
    package var state: String
    /// When it was paired: ``UTCTime`` as text.
    package var pairedAt: String
    /// The peer's address and port while it is online.
    package var peer: String?
    /// Seconds between two keep-alives of its link; nil while it is offline.
    package var keepAliveSeconds: Int64?
    /// What is known of its network's patience with idle links: `searching`, `settled`, `at-ceiling`, or `below-floor`:
    /// it forgets links sooner than keep-alives are sent, so pushes may come late.
    package var network: String?
    /// The gateway that it is asked to move to, or has moved to, as `host:port`.
    package var movesTo: String?
    /// Pushes that wait for it.
    package var waiting: Int
    /// Whether waiting payloads are sealed for it.
    package var sealed: Bool
    /// The revision of its registrations; nil before the first.
    package var revision: UInt64?
    package var apps: [App]

    /// A registration.
    package struct App: Codable, Equatable, Sendable {
        package var app: String
        package var environment: String
        package var slot: String

        package init(app: String, environment: String, slot: String) {
            self.app = app
            self.environment = environment
            self.slot = slot
        }
    }

    package init(
        device: String, name: String, state: String, pairedAt: String, peer: String?, waiting: Int, sealed: Bool,
        revision: UInt64?, apps: [App]
    ) {
        self.device = device
        self.name = name
        self.state = state
        self.pairedAt = pairedAt
        self.peer = peer
        self.waiting = waiting
        self.sealed = sealed
        self.revision = revision
        self.apps = apps
    }
}

/// Moves a device, or all, to another gateway.
package struct DeviceMove: Codable, Equatable, Sendable {
    /// The gateway, as `host` or `host:port` (8883).
    package var to: String
    /// Only for now, and only those that are linked; nil: no.
    package var temporary: Bool?

    package init(to: String, temporary: Bool? = nil) {
        self.to = to
        self.temporary = temporary
    }
}

/// All devices of a gateway, by name.
package struct LinkedDeviceListMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var devices: [LinkedDeviceMessage]

    package init(devices: [LinkedDeviceMessage]) {
        self.devices = devices
    }
}

/// An invitation to pair. It can be used once.
package struct InvitationMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// To type: `AB-1234-5678`.
    package var code: String
    /// For `ringwake link pair` and a QR code: it has the gateway, a longer code and the pin.
    package var link: String
    /// What the device connects to.
    package var gateway: String
    /// SHA-256 of a public key (SubjectPublicKeyInfo) in hex; nil if the systems' CAs vouch for the gateway.
    package var pin: String?
    /// Whose key it is: `ca` or `key` (the gateway's own). A certificate with the same key, or of the same CA, may
    /// replace the present one.
    package var pins: String?
    package var expiresInMs: Int64

    package init(code: String, link: String, gateway: String, pin: String?, pins: String?, expiresInMs: Int64) {
        self.code = code
        self.link = link
        self.gateway = gateway
        self.pin = pin
        self.pins = pins
        self.expiresInMs = expiresInMs
    }
}
