import RingwakeCore

/// What blocked a call, for people.
enum RestrictionText {
    /// The name of a kind, to follow "blocked by"; an unknown kind is its own name.
    static func kind(_ kind: String) -> String {
        switch Restriction.Kind(rawValue: kind) {
        case .doNotDisturb: "do not disturb"
        case .blocked: "a block list"
        case .appLimit: "the limit of calls of the app"
        case .callerLimit: "the limit of calls of the caller"
        case .level: "the level of the app"
        case nil: kind
        }
    }

    /// How to let such calls ring.
    static func remedy(_ kind: String, app: String) -> String? {
        switch Restriction.Kind(rawValue: kind) {
        case .doNotDisturb:
            "see 'ringwake dnd'; let an app or a caller ring with 'ringwake dnd allow'"
        case .blocked: "find the entry with 'ringwake block check CALLER', remove it with 'ringwake block remove'"
        case .appLimit, .callerLimit: "raise the limit in [restrictions] of ringwaked.toml(5), or of the file of \(app)"
        case .level: "change [restrictions] allowed_level in ringwaked.toml(5), or level in the file of \(app)"
        case nil: nil
        }
    }
}
