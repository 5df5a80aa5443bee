package import RingwakeCore

extension Configuration {
    /// The teams whose pushes to an app this daemon takes from senders. A device has none: its gateway knows them.
    package func teams(pushingTo app: AppID) -> [Team] {
        let topic = Topic.voip(of: app).rawValue
        return role == .device ? [] : teams.filter { $0.topics?.contains(topic) ?? true }
    }

    /// Who makes an app: the team that its file names, else the one team that may push to it, else the first two parts of
    /// its bundle id. Teams that name the app's topic come before those that may send to every topic. Several are no
    /// vendor: they are servers that the app works with.
    ///
    /// - Returns: nil while it can't be known, because the file of the app or of a team is wrong.
    package func vendor(of app: AppConfiguration) -> Vendor? {
        if let team = app.team { return .team(team) }
        let isAnyTeamUnknown = setAside.contains { file in
            if case .team = file.owner { !file.usesFormer } else { false }
        }
        guard !app.isBare, !isAnyTeamUnknown else { return nil }
        let teams = teams(pushingTo: app.id)
        let named = teams.filter { $0.topics != nil }
        let candidates = named.isEmpty ? teams : named
        guard let team = candidates.first, candidates.count == 1 else { return Vendor(prefixOf: app.id) }
        return .team(team.id)
    }
}
