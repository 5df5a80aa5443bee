// The device and the daemon.
extension EventMessage {
    /// The network changed: once for the daemon, without `app` and `call`, and once for each call that rings, is being
    /// answered, is connected or is held, so that its handler can send its new address to its peer.
    package struct Path: EventContent {
        package static let name = Name.path

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, call, path }

        package var app, call: String?
        /// What the network offers now.
        package var path: PathMessage
    }

    /// The daemon (without `app`) or an app is online, limited or offline.
    package struct Connection: EventContent {
        package static let name = Name.connection

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, connection, connectionReason }

        package var app: String?
        /// `online`, `limited` or `offline`.
        package var connection: String
        /// Why it is not online: as ``ConnectionMessage/why``.
        package var connectionReason: String?
    }

    /// The first cellular call of the device began, or the last one ended.
    package struct Cellular: EventContent {
        package static let name = Name.cellular

        package enum CodingKeys: String, CodingKey, CaseIterable { case active }

        /// Whether a cellular call is in progress.
        package var active: Bool
    }

    /// What is restricted on the device has changed: for an app, or without `app` for one that do not disturb has no
    /// exception for. A stream that is not of one call begins with it if something is restricted.
    package struct Restrictions: EventContent {
        package static let name = Name.restrictions

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, restrictions }

        package var app: String?
        /// All of them, as they are now.
        package var restrictions: RestrictionsMessage

        package init(app: String?, restrictions: RestrictionsMessage) {
            self.app = app
            self.restrictions = restrictions
        }
    }

    /// The cellular networks of the device have changed. A stream begins with them if they are known and there are any.
    package struct Telephony: EventContent {
        package static let name = Name.telephony

        package enum CodingKeys: String, CodingKey, CaseIterable { case modems }

        /// All of them, as they are now.
        package var modems: [TelephonyMessage.Modem]

        package init(modems: [TelephonyMessage.Modem]) {
            self.modems = modems
        }
    }

    /// This device and its gateway disagree about registrations (client reset): the link, the calls and all streams go on.
    /// Once before anything is changed, and once afterwards.
    package struct LinkReset: EventContent {
        package static let name = Name.linkReset

        package enum CodingKeys: String, CodingKey, CaseIterable { case gateway, device, reset }

        /// The gateway as `host:port`, and the id of this device's key: the session that is reset.
        package var gateway, device: String?
        /// `result` is `begun` before, with the copies that were made until then.
        package var reset: LinkMessage.Reset

        package init(gateway: String?, device: String?, reset: LinkMessage.Reset) {
            self.gateway = gateway
            self.device = device
            self.reset = reset
        }
    }

    /// The daemon has dropped what an app had stored with it.
    package struct StateDropped: EventContent {
        package static let name = Name.stateDropped

        package enum CodingKeys: String, CodingKey, CaseIterable { case app, reason }

        package var app: String
        /// `reset`: the user forced the end of the app; `crashed`: its handler crashed while restoring, twice in a row.
        package var reason: String

        package init(app: String, reason: String) {
            self.app = app
            self.reason = reason
        }
    }

    /// The configuration was read again.
    package struct Reload: EventContent {
        package static let name = Name.reload

        package enum CodingKeys: CodingKey, CaseIterable {}

        package init() {}
        package init(from decoder: any Decoder) {}
        package func encode(to encoder: any Encoder) {}
    }
}
