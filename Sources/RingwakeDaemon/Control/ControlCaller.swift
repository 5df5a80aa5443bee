internal import HTTPServer
internal import RingwakeCore

/// Who sent a control request, and so what it may do.
nonisolated enum ControlCaller: Equatable {
    /// Root or the daemon's own user: may do everything.
    case owner
    /// The holder of a wake secret: may act on the calls of its app.
    case handler(AppID, WakeID)
    /// Any other local user: may read the status.
    case user

    /// - Parameters:
    ///   - secrets: the app and the start of its handler that each wake secret in force belongs to.
    ///   - processes: the same of a process: those of a unit that was started for a handler need no secret.
    /// - Throws: `notPermitted` for a secret that is not in force. It is not passed over even where the user id alone
    ///   would do: a handler with a stale secret would else act with the owner's rights.
    init(
        request: HTTPRequest, credentials: PeerCredentials?, secrets: (String) -> (app: AppID, wake: WakeID)?,
        processes: (Int32) -> (app: AppID, wake: WakeID)? = { _ in nil }
    ) throws(RingwakeError) {
        if let authorization = request.values(of: "authorization").first {
            let words = authorization.split(separator: " ", maxSplits: 1)
            guard words.count == 2, words[0].lowercased() == "bearer", let handler = secrets(String(words[1])) else {
                throw RingwakeError(
                    .notPermitted, "the wake secret is not in force: it ends with the handler that it was given to")
            }
            self = .handler(handler.app, handler.wake)
        } else if let handler = credentials.flatMap({ processes($0.processID) }) {
            // Before the user is looked at: a handler that runs as the daemon's user is confined to its app all the same.
            self = .handler(handler.app, handler.wake)
        } else if credentials?.isOwner ?? false {
            self = .owner
        } else {
            self = .user
        }
    }

    /// The start of a handler that the caller is; nil for the owner, who may act for every handler.
    var wake: WakeID? {
        if case .handler(_, let wake) = self { wake } else { nil }
    }

    /// Throws `notPermitted` unless the caller is the owner.
    func requireOwner() throws(RingwakeError) {
        guard self == .owner else {
            throw RingwakeError(.notPermitted, "only root and the user that ringwaked runs as may do this")
        }
    }

    /// The app that the caller is confined to (nil for the owner), or throws `notPermitted`.
    ///
    /// - Parameter asked: the app that the request names, if it names one.
    func confinedApp(asked: AppID?) throws(RingwakeError) -> AppID? {
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
