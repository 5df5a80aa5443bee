import RingwakeCore

/// `tokens.json`: the record of every token, by the token's hash. Reading the file reveals no token.
nonisolated struct TokenFile: Codable {
    /// Maximum bytes of a file; more than ``TokenStore``'s limits need.
    static let maximumBytes = 16 * 1024 * 1024
    /// What to do about a damaged file.
    static let remedy =
        "move it away and start again: the tokens of 'apps' stay in force then, and only which tokens were removed "
        + "is forgotten"

    var schema = StateFile.schema
    var tokens: [Entry]

    struct Entry: Codable {
        /// SHA-256 of the token's 32 bytes, in hex.
        var sha256: String
        var app: AppID
        var topic: Topic
        var environment: PushEnvironment
        var state: State
        /// When the token was unregistered, in ms since 1970.
        var unregisteredAtMs: Int64?
    }

    enum State: String, Codable {
        case registered
        case unregistered
    }

    /// The file for these records, sorted by hash.
    init(_ records: [TokenHash: TokenRecord]) {
        tokens = records.map { hash, record in
            Entry(
                sha256: hash.hex, app: record.app, topic: record.topic, environment: record.environment,
                state: record.unregisteredAt == nil ? .registered : .unregistered,
                unregisteredAtMs: record.unregisteredAt)
        }
        tokens.sort { $0.sha256 < $1.sha256 }
    }

    /// The records of the file.
    ///
    /// - Parameter path: path of the file, for error messages.
    func records(path: String) throws(RingwakeError) -> [TokenHash: TokenRecord] {
        var records: [TokenHash: TokenRecord] = [:]
        for entry in tokens {
            guard let hash = TokenHash(hex: entry.sha256) else {
                throw StateFile.unreadable(path, "'\(entry.sha256)' is not a SHA-256 in hex", remedy: Self.remedy)
            }
            let state: TokenRecord.State
            switch (entry.state, entry.unregisteredAtMs) {
            case (.registered, nil): state = .registered
            case (.unregistered, let time?): state = .unregistered(at: time)
            default:
                throw StateFile.unreadable(
                    path, "'state' and 'unregisteredAtMs' of \(entry.sha256) do not fit", remedy: Self.remedy)
            }
            let record = TokenRecord(
                app: entry.app, topic: entry.topic, environment: entry.environment, state: state)
            guard records.updateValue(record, forKey: hash) == nil else {
                throw StateFile.unreadable(path, "\(entry.sha256) is there twice", remedy: Self.remedy)
            }
        }
        return records
    }
}
