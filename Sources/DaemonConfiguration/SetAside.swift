package import RingwakeCore

/// A file of an app or a team that is wrong, and therefore not in use. Everything else is.
package struct SetAside: Sendable, Equatable {
    /// Whose file it is.
    package enum Owner: Sendable, Equatable {
        case app(AppID)
        case team(String)
        /// A file in `apps.d` that isn't named after an app.
        case nobody
    }

    package let owner: Owner
    package let file: String
    /// What is wrong, with the file and mostly the line.
    package let why: String
    /// Whether what the file said before stays in use.
    package let usesFormer: Bool
}

extension Configuration {
    /// Takes an app's file out of use. The app keeps what `former` has for it. Without that the daemon can't start its
    /// handler, but keeps its tokens, and records its pushes.
    mutating func setAside(app id: AppID, file: String, _ error: RingwakeError, former: Configuration?) {
        let kept = former?.apps[id].flatMap { $0.isBare ? nil : $0 }
        apps[id] = kept ?? AppConfiguration(id: id, file: file, defaults: self).bare
        setAside.append(SetAside(owner: .app(id), file: file, why: error.message, usesFormer: kept != nil))
    }

    /// Takes a team out of use. It keeps what `former` has for it; without that its pushes are refused.
    package mutating func setAside(team id: String, file: String, _ error: RingwakeError, former: Configuration?) {
        teams.removeAll { $0.id == id }
        let kept = former?.teams.first { $0.id == id }
        if let kept { teams.append(kept) }
        setAside.append(SetAside(owner: .team(id), file: file, why: error.message, usesFormer: kept != nil))
    }

    /// Why the app's file isn't in use; nil if it is.
    package func setAside(of app: AppID) -> SetAside? { setAside.first { $0.owner == .app(app) } }
}
