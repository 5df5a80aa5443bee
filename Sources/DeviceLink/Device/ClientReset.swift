internal import FoundationEssentials
package import RingwakeCore

/// Why a device's registrations and its gateway's can't be brought together by sending them.
package enum LinkDisagreement: String, Hashable, Sendable, Codable {
    /// The gateway has another store than at the last link: it was set up anew, or restored.
    case otherStore = "other-store"
    /// The gateway has a later revision: the device was restored from an older state, or an administrator changed it.
    case gatewayAhead = "gateway-ahead"
    /// The gateway refuses the registrations: a token has ended there, or belongs to another device.
    case refused
}

/// What a device does when it and its gateway disagree.
package enum LinkResetMode: String, Hashable, Sendable, CaseIterable {
    /// Keeps what is only on the device, and takes what only the gateway has.
    case recover
    /// The same; if the gateway refuses that, as ``discard``.
    case recoverOrDiscard = "recover-or-discard"
    /// Gives up what is only on the device.
    case discard
    /// Waits for a person.
    case manual
}

/// The registrations as the gateway has them, for a device that asks because the two disagree.
package struct GatewayRegistrations: Hashable, Sendable, Codable {
    package let revision: UInt64?
    package let registrations: [LinkRegistration]
    /// Those of the tokens that the device has named which can't be registered: they have ended, or are another
    /// device's.
    package let ended: [String]

    package init(revision: UInt64?, registrations: [LinkRegistration], ended: [String]) {
        self.revision = revision
        self.registrations = registrations
        self.ended = ended
    }

    /// The content type of the PUBLISH that carries it.
    package static let contentType = "application/vnd.ringwake.registrations"

    /// The message's payload.
    func json() -> [UInt8] {
        // Encoding plain values doesn't fail.
        (try? Array(JSONEncoder().encode(self))) ?? []
    }

    /// Reads a payload; nil if it is none.
    init?(json: [UInt8]) {
        guard let value = try? JSONDecoder().decode(GatewayRegistrations.self, from: Data(json)),
            value.registrations.count <= LinkLimits.maximumRegistrations
        else { return nil }
        self = value
    }
}

/// How a device brings its registrations and its gateway's together (client reset). Nothing is decided by time: the same
/// two states always give the same plan.
///
/// | a registration is | recover | discard |
/// |---|---|---|
/// | on both sides | stays | stays |
/// | only on the device | stays, and is sent | its token expires, its app gets another |
/// | only at the gateway, its app is on the device | is taken | is taken |
/// | only at the gateway, its app is not there | ends | ends |
/// | on the device, and has ended at the gateway | its token expires, its app gets another | the same |
package struct LinkResetPlan: Hashable, Sendable {
    /// Registrations of the gateway that the device takes: pushes to their tokens reach their apps.
    package let adopted: [LinkRegistration]
    /// SHA-256 of tokens of the device that expire. Their apps get new ones.
    package let expired: [String]
    /// The revision of the result is above this one.
    package let above: UInt64

    /// - Parameters:
    ///   - apps: the apps of the device.
    ///   - mode: ``LinkResetMode/discard``, or one that recovers.
    package init(
        local: LinkRegistrations, gateway: GatewayRegistrations, apps: Set<AppID>, mode: LinkResetMode
    ) {
        let (here, there) = (Set(local.registrations.map(\.token)), Set(gateway.registrations.map(\.token)))
        let slots = Set(local.registrations.map(\.slot))
        let ended = Set(gateway.ended)
        // A slot names one registration for ever: the device's own counts.
        adopted = gateway.registrations.filter {
            !here.contains($0.token) && apps.contains($0.app) && !slots.contains($0.slot)
        }
        expired = local.registrations.map(\.token).filter { token in
            ended.contains(token) || (mode == .discard && !there.contains(token))
        }
        above = max(local.revision, gateway.revision ?? 0)
    }
}
