import RingwakeCore

/// `tokens.json`: the record of every token, by the token's hash. Reading the file reveals no token.
nonisolated struct TokenFile: StateContents {
    /// Maximum bytes of a file; more than ``TokenStore``'s limits need.
    static let maximumBytes = 16 * 1024 * 1024

    var schema = StateFiles.schema
    var check: String?
    var tokens: [Entry]
    /// The device that the registered tokens are bound to; nil if the machine isn't linked.
    var device: DeviceID?
    /// Rises with each change of the registered tokens; nil in files of former versions.
    var revision: UInt64?

    struct Entry: Codable {
        /// SHA-256 of the token's 32 bytes, in hex.
        var sha256: String
        var app: AppID
        var topic: Topic
        var environment: PushEnvironment
        var state: State
        /// When the token ceased to be valid, in ms since 1970.
        var unregisteredAtMs: Int64?
        /// Its name on the link; nil if it was made for this machine alone.
        var slot: LinkSlot?
        /// Whether it was replaced by a new one. Former versions ignore this: to them it is unregistered.
        var expired: Bool?
    }

    enum State: String, Codable {
        case registered
        case unregistered
    }

    /// The file for these records, sorted by hash.
    init(_ records: [TokenHash: TokenRecord], device: DeviceID?, revision: UInt64) {
        self.device = device
        self.revision = revision
        tokens = records.map { hash, record in
            let isExpired = if case .expired = record.state { true } else { false }
            return Entry(
                sha256: hash.hex, app: record.app, topic: record.topic, environment: record.environment,
                state: record.endedAt == nil ? .registered : .unregistered, unregisteredAtMs: record.endedAt,
                slot: record.slot, expired: isExpired ? true : nil)
        }
        tokens.sort { $0.sha256 < $1.sha256 }
    }

    /// The records of the file.
    func records() throws(RingwakeError) -> [TokenHash: TokenRecord] {
        var records: [TokenHash: TokenRecord] = [:]
        for entry in tokens {
            guard let hash = TokenHash(hex: entry.sha256) else {
                throw RingwakeError(.system, "'\(entry.sha256)' is not a SHA-256 in hex")
            }
            let state: TokenRecord.State
            switch (entry.state, entry.unregisteredAtMs) {
            case (.registered, nil): state = .registered
            case (.unregistered, let time?):
                state = entry.expired == true ? .expired(at: time) : .unregistered(at: time)
            default:
                throw RingwakeError(.system, "'state' and 'unregisteredAtMs' of \(entry.sha256) do not fit")
            }
            let record = TokenRecord(
                app: entry.app, topic: entry.topic, environment: entry.environment, state: state,
                slot: entry.slot)
            guard records.updateValue(record, forKey: hash) == nil else {
                throw RingwakeError(.system, "\(entry.sha256) is there twice")
            }
        }
        return records
    }
}
