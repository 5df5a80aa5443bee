import ControlProtocol
import RingwakeCore

/// What `ringwake app show --pn` prints: what a SIP client adds to the URI in its Contact (RFC 8599 § 10).
struct ContactParameters: Codable, Equatable {
    var schema = ControlAPI.schema
    /// The app's bundle id.
    let app: String
    /// The token's environment: `development` or `production`. The parameters don't contain it, so the SIP server has
    /// to know it.
    let environment: String
    let pnProvider: String
    let pnParam: String
    let pnPrid: String
    /// All parameters, as written in the URI.
    let parameters: String

    /// - Parameters:
    ///   - team: the team that pushes; may be nil if only one team is allowed.
    ///   - environment: may be nil if the app has one token.
    init(of app: AppMessage, team: String?, environment: PushEnvironment?) throws(RingwakeError) {
        let team = try ContactParameters.team(of: app, wanted: team)
        let (environment, token) = try ContactParameters.token(of: app, wanted: environment)
        self.app = app.app
        self.environment = environment
        let contact = PushContact(team: team, topic: app.topic, token: token)
        pnProvider = contact.provider
        pnParam = contact.parameter
        pnPrid = contact.resourceID
        parameters = contact.parameters
    }

    private static func team(of app: AppMessage, wanted: String?) throws(RingwakeError) -> String {
        if let wanted {
            // Other characters could change the meaning of the URI.
            guard !wanted.isEmpty, wanted.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
                throw RingwakeError(.invalidRequest, "'\(wanted)' is not a team id; give letters and digits only")
            }
            // Which teams the gateway has is not known here.
            guard app.teams.isEmpty || app.gateway != nil || app.teams.contains(wanted) else {
                throw RingwakeError(
                    .notFound,
                    "team \(wanted) may not push to \(app.app); name one of \(app.teams.joined(separator: ", "))")
            }
            return wanted
        }
        guard let first = app.teams.first else {
            throw RingwakeError(
                .conflict,
                app.gateway != nil || app.onlyGateway == true
                    ? "the teams that may push to \(app.app) are the gateway's; name one with --team"
                    : "no team may push to \(app.app) yet; configure a key or a CA in ringwaked.toml(5), or name the team "
                        + "with --team")
        }
        guard app.teams.count == 1 else {
            throw RingwakeError(
                .conflict,
                "several teams may push to \(app.app): \(app.teams.joined(separator: ", ")); name one with --team")
        }
        return first
    }

    private static func token(
        of app: AppMessage, wanted: PushEnvironment?
    ) throws(RingwakeError) -> (environment: String, token: String) {
        if let wanted {
            guard let token = app.tokens[wanted.rawValue] else {
                throw RingwakeError(
                    .notFound,
                    "\(app.app) has no \(wanted.rawValue) token; 'ringwake app show' lists its tokens")
            }
            return (wanted.rawValue, token)
        }
        guard let only = app.tokens.first else {
            throw RingwakeError(.conflict, "\(app.app) has no token; is it registered? See 'ringwake app show'")
        }
        guard app.tokens.count == 1 else {
            throw RingwakeError(
                .conflict,
                "\(app.app) has a development and a production token; choose the one for the SIP server's push service "
                    + "with --environment")
        }
        return (only.key, only.value)
    }
}
