package import RingwakeCore

/// The sender of a control request, which decides its permissions.
package enum Caller: Equatable, Sendable {
    /// Root or the daemon's own user: may do everything.
    case owner
    /// The holder of a wake secret: may act on the calls of its app.
    case handler(AppID, WakeID)
    /// Any other local user: may read the status.
    case user

    /// - Parameters:
    ///   - authorization: the header of that name; nil: none.
    ///   - secrets: the app and the WakeID for each valid wake secret.
    ///   - processes: the same for a process: processes in a handler's systemd unit need no secret.
    /// - Throws: `notPermitted` for an invalid secret, even if the user id alone were sufficient: otherwise a handler
    ///   with an old secret would have the owner's rights.
    package init(
        authorization: String?, isOwner: Bool, pid: Int32?, secrets: (String) -> (app: AppID, wake: WakeID)?,
        processes: (Int32) -> (app: AppID, wake: WakeID)? = { _ in nil }
    ) throws(RingwakeError) {
        if let authorization {
            let words = authorization.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].lowercased() == "bearer", let handler = secrets(String(words[1])) else {
                throw RingwakeError(
                    .notPermitted, "the wake secret is not in force: it ends with the handler that it was given to")
            }
            self = .handler(handler.app, handler.wake)
        } else if let handler = pid.flatMap({ processes($0) }) {
            // Before the user id, so that a handler that runs as the daemon's user is confined to its app, too.
            self = .handler(handler.app, handler.wake)
        } else {
            self = isOwner ? .owner : .user
        }
    }

    /// The calling handler; nil for the owner, who may act for every handler.
    package var wake: WakeID? {
        if case .handler(_, let wake) = self { wake } else { nil }
    }

    /// Throws `notPermitted` unless the caller is the owner.
    package func requireOwner() throws(RingwakeError) {
        guard self == .owner else {
            throw RingwakeError(.notPermitted, "only root and the user that ringwaked runs as may do this")
        }
    }

    /// The app that the caller is confined to (nil for the owner), or throws `notPermitted`.
    ///
    /// - Parameter asked: the app that the request names, if it names one.
    package func confinedApp(asked: AppID?) throws(RingwakeError) -> AppID? {
        switch self {
        case .owner:
            return asked
        case .handler(let app, _):
            guard asked == nil || asked == app else {
                throw RingwakeError(.notPermitted, "this wake secret is for \(app), not for \(asked ?? app)")
            }
            return app
        case .user:
            throw RingwakeError(
                .notPermitted,
                "calls are for root, the user that ringwaked runs as, and handlers with their wake secret")
        }
    }
}
