/// This device's link to its gateway.
package struct LinkMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    package var state: String
    /// The gateway as `host:port`; nil if the device is not paired.
    package var gateway: String?
    /// Another gateway that `gateway` has named, and that the device uses now, as `host:port`.
    package var visiting: String?
    /// The gateway that the device has moved away from and still has to leave, as `host:port`.
    package var leaving: String?
    /// The last gateway that was named and that the device could not use.
    package var notFollowed: NotFollowed?
    /// `system`, `authorities` or `pin`.
    package var trust: String?
    /// The id of this device's key; nil before the first pairing.
    package var device: String?
    /// How long the link has lasted.
    package var linkedMs: Int64?
    /// Seconds between two keep-alives of the gateway.
    package var keepAliveSeconds: Int64?
    /// The interval that a second connection is trying now.
    package var keepAliveTriedSeconds: Int64?
    /// The interval that this network may get at most.
    package var keepAliveLongestSeconds: Int64?
    /// The shortest interval that is known to fail on this network.
    package var keepAliveFailedSeconds: Int64?
    /// When the next attempt is.
    package var retryInMs: Int64?
    /// How the last link, or the last attempt, ended.
    package var lastEnd: End?
    /// Pushes that came since the start.
    package var received: UInt64?
    /// The revision of the registrations here, and the one that the gateway has.
    package var revision: UInt64?
    package var gatewayRevision: UInt64?
    /// What a person has to do.
    package var problem: String?
    /// The last time that the device and its gateway disagreed about registrations, since the start.
    package var reset: Reset?
    /// Whether the network device on the way to the gateway can wake the machine; nil without a way.
    package var wakeup: Wakeup?

    /// Whether a network device can wake the machine from suspend.
    package struct Wakeup: Codable, Equatable, Sendable {
        package enum State: String, CaseIterable, Sendable {
            case enabled
            case disabled
            /// The kernel says nothing about it.
            case unknown
        }

        package var interface: String
        /// A ``State``.
        package var state: String
        /// The kernel's file for it.
        package var file: String?

        package init(interface: String, state: State, file: String?) {
            self.interface = interface
            self.state = state.rawValue
            self.file = file
        }
    }

    /// A disagreement about registrations, and what was done (client reset).
    package struct Reset: Codable, Equatable, Sendable {
        /// `other-store`, `gateway-ahead` or `refused`.
        package var code: String
        package var why: String
        /// `recover`, `recover-or-discard`, `discard` or `manual`.
        package var mode: String
        /// `begun`, `waiting` (for a person), `recovered`, `discarded` or `failed`.
        package var result: String
        /// ``UTCTime`` as text.
        package var at: String
        /// The folder with the registrations before and after, and the gateway's.
        package var copies: String?

        package var isWaiting: Bool { result == "waiting" }

        package init(code: String, why: String, mode: String, result: String, at: String, copies: String?) {
            self.code = code
            self.why = why
            self.mode = mode
            self.result = result
            self.at = at
            self.copies = copies
        }
    }

    /// The states of a link. A later version may have more.
    package enum State: String, CaseIterable, Sendable {
        /// The device is not paired with a gateway.
        case unpaired
        /// There is no way to the gateway now.
        case unreachable
        /// It waits for the time of the next attempt.
        case waiting
        case connecting
        /// Pushes come.
        case linked
        /// Another machine uses this device's key; only a person can settle that.
        case stopped
    }

    /// A reference to another gateway that the device could not follow.
    package struct NotFollowed: Codable, Equatable, Sendable {
        /// As it was named.
        package var gateway: String
        package var why: String

        package init(gateway: String, why: String) {
            self.gateway = gateway
            self.why = why
        }
    }

    /// How a link ended.
    package struct End: Codable, Equatable, Sendable {
        package var why: String
        package var agoMs: Int64

        package init(why: String, agoMs: Int64) {
            self.why = why
            self.agoMs = agoMs
        }
    }

    package init(state: State) {
        self.state = state.rawValue
    }
}

/// Pairs this device with a gateway.
package struct LinkPairing: Codable, Equatable, Sendable {
    /// A name or a numeric address.
    package var host: String
    package var port: UInt16
    /// The code of the invitation.
    package var code: String
    /// SHA-256 of a public key (SubjectPublicKeyInfo) in hex: the gateway's, or that of its CA.
    package var pin: String?
    /// The CAs of the gateway, in PEM. Without these and `pin`, those of the system.
    package var authorities: String?

    package init(host: String, port: UInt16, code: String, pin: String? = nil, authorities: String? = nil) {
        self.host = host
        self.port = port
        self.code = code
        self.pin = pin
        self.authorities = authorities
    }
}
