package import RingwakeCore

/// The process at the other end of a connection to the control socket: what was found out about it when it connected. The
/// daemon never asks about its PID later, because another process may have it by then.
package struct ControlPeer: Equatable, Sendable {
    /// What the kernel says about its user.
    package enum Standing: Equatable, Sendable {
        /// Root, or the daemon's own user.
        case owner
        /// In the group that the socket belongs to.
        case member
        /// Neither.
        case stranger
    }

    package var standing: Standing
    /// Its user ID; nil: unknown.
    package var user: UInt32?
    /// Its PID; nil: unknown.
    package var pid: Int32?
    /// The process; nil: unknown.
    package var process: ProcessIdentity?
    /// The handler whose unit it belongs to.
    package var unit: WakeID?
    /// Whether it belongs to a unit that handlers run in, also one whose handler has ended.
    package var isInHandlerUnit: Bool

    package init(
        _ standing: Standing, user: UInt32? = nil, pid: Int32? = nil, process: ProcessIdentity? = nil,
        unit: WakeID? = nil, isInHandlerUnit: Bool = false
    ) {
        self.standing = standing
        self.user = user
        self.pid = pid
        self.process = process
        self.unit = unit
        self.isInHandlerUnit = isInHandlerUnit
    }
}

/// The sender of a control request, which decides its permissions.
package enum Caller: Equatable, Sendable {
    /// Root or the daemon's own user: may do everything.
    case owner
    /// A member of the socket's group: may handle calls and do not disturb.
    case member
    /// The holder of a wake secret, or a process of a handler's unit: may act on the calls of its app.
    case handler(AppID, WakeID)
    /// Any other local user: may ask for status and reachability.
    case stranger

    /// - Parameters:
    ///   - authorization: the header of that name; nil: none.
    ///   - handlers: the handlers that may be there.
    ///   - hash: the hash of a secret.
    /// - Throws: `notPermitted` for an invalid secret, even if the user id alone were sufficient: otherwise a handler
    ///   with an old secret would have the owner's rights. The same for a member in the unit of a handler that has ended:
    ///   its unit is in the group so that it can connect. `timedOut` while the last run's handlers are unknown.
    init(
        _ peer: ControlPeer, authorization: String?, _ handlers: HandlerRegistry, hash: (String) -> [UInt8]
    ) throws(RingwakeError) {
        if let authorization {
            let words = authorization.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].lowercased() == "bearer",
                let handler = handlers.handler(ofSecretHash: hash(String(words[1])))
            else {
                throw handlers.unknown("the wake secret is not in force: it ends with the handler that it was given to")
            }
            self = .handler(handler.app, handler.wake)
        } else if let handler = peer.unit.flatMap({ handlers.handler($0) }) {
            // Before the user id, so that a handler that runs as the daemon's user is confined to its app, too.
            self = .handler(handler.app, handler.wake)
        } else if peer.isInHandlerUnit, peer.standing != .owner {
            throw handlers.unknown("this unit's handler has ended, and with it what its processes may do")
        } else {
            switch peer.standing {
            case .owner: self = .owner
            case .member: self = .member
            case .stranger: self = .stranger
            }
        }
    }

    /// The error for a stranger.
    package static let strangersMayNot = RingwakeError(
        .notPermitted,
        "only root, ringwaked's user, members of the control socket's group (ringwake-control for the system's service) "
            + "and handlers may do this; other users may ask for status and reachability"
    )

    /// The calling handler; nil for the owner and members, who may act for every handler.
    package var wake: WakeID? {
        if case .handler(_, let wake) = self { wake } else { nil }
    }

    /// Throws `notPermitted` unless the caller is the owner.
    package func requireOwner() throws(RingwakeError) {
        guard self == .owner else {
            throw RingwakeError(.notPermitted, "only root and the user that ringwaked runs as may do this")
        }
    }

    /// Throws `notPermitted` unless the caller is the owner or a member.
    package func requirePerson() throws(RingwakeError) {
        switch self {
        case .owner, .member: break
        case .handler: throw RingwakeError(.notPermitted, "this is the user's to say, not the handler's")
        case .stranger: throw Caller.strangersMayNot
        }
    }

    /// Throws `notPermitted` unless the caller is the owner or a handler.
    package func requireOwnerOrHandler() throws(RingwakeError) {
        if case .handler = self { return }
        try requireOwner()
    }

    /// The app that the caller is confined to (nil for the owner and members), or throws `notPermitted`.
    ///
    /// - Parameter asked: the app that the request names, if it names one.
    package func confinedApp(asked: AppID?) throws(RingwakeError) -> AppID? {
        if self == .stranger { throw Caller.strangersMayNot }
        guard case .handler(let app, _) = self else { return asked }
        guard asked == nil || asked == app else {
            throw RingwakeError(.notPermitted, "this wake secret is for \(app), not for \(asked ?? app)")
        }
        return app
    }
}
