import RingwakeCore

/// `apps/ID.json`: the plain tokens of one app, readable by its owner only (mode 0600).
nonisolated struct AppTokenFile: Codable {
    /// Maximum bytes of a file; real ones have about 300.
    static let maximumBytes = 64 * 1024
    /// What to do about a damaged file.
    static let remedy = "move it away and start again: the app gets new tokens then"

    var schema = StateFile.schema
    var app: AppID
    var topic: Topic
    /// Tokens in hex, by environment.
    var tokens: [String: String]

    init(app: AppID, _ content: AppTokens) {
        self.app = app
        topic = content.topic
        tokens = Dictionary(
            content.tokens.map { ($0.key.rawValue, $0.value.hex) }, uniquingKeysWith: { first, _ in first })
    }

    /// The tokens in the file.
    ///
    /// - Parameters:
    ///   - expected: the app that the file is named after.
    ///   - path: path of the file, for error messages.
    func content(of expected: AppID, path: String) throws(RingwakeError) -> AppTokens {
        guard app == expected else {
            throw StateFile.unreadable(path, "it is of the app '\(app)'", remedy: Self.remedy)
        }
        var content = AppTokens(topic: topic, tokens: [:])
        for (name, hex) in tokens {
            guard let environment = PushEnvironment(rawValue: name), let token = DeviceToken(hex: hex) else {
                throw StateFile.unreadable(path, "its entry '\(name)' is no token", remedy: Self.remedy)
            }
            content.tokens[environment] = token
        }
        return content
    }
}

/// The tokens of one app.
nonisolated struct AppTokens: Equatable {
    var topic: Topic
    var tokens: [PushEnvironment: DeviceToken]
}
