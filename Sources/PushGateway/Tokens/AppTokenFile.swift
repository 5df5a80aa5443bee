import RingwakeCore

/// `apps/ID.json`: the plain tokens of one app, readable by its owner only (mode 0600).
nonisolated struct AppTokenFile: StateContents {
    /// Maximum bytes of a file; real ones have about 300.
    static let maximumBytes = 64 * 1024

    var schema = StateFiles.schema
    var check: String?
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
    /// - Parameter expected: the app that the file is named after.
    func content(of expected: AppID) throws(RingwakeError) -> AppTokens {
        guard app == expected else { throw RingwakeError(.system, "it is of the app '\(app)'") }
        var content = AppTokens(topic: topic, tokens: [:])
        for (name, hex) in tokens {
            guard let environment = PushEnvironment(rawValue: name), let token = DeviceToken(hex: hex) else {
                throw RingwakeError(.system, "its entry '\(name)' is no token")
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
