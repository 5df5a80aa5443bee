import RingwakeCore

/// What kept a call out, for people.
enum RestrictionText {
    /// What a kind is called; a kind that this version does not know stands for itself.
    static func kind(_ kind: String) -> String {
        switch Restriction.Kind(rawValue: kind) {
        case .doNotDisturb: "do not disturb"
        case .blocked: "blocked caller"
        case .appLimit: "too many calls of the app"
        case .callerLimit: "too many calls of the caller"
        case .level: "level above what is allowed"
        case nil: kind
        }
    }

    /// What to do about it, where it was not meant.
    static func remedy(_ kind: String, app: String) -> String? {
        switch Restriction.Kind(rawValue: kind) {
        case .doNotDisturb:
            "'ringwake dnd' shows what is in force; 'ringwake dnd allow' lets an app or a caller through"
        case .blocked: "'ringwake block check CALLER' says which entry it is; 'ringwake block remove' takes it off"
        case .appLimit, .callerLimit: "[restrictions] in ringwaked.toml(5), or in the file of \(app), has the limit"
        case .level: "[restrictions] allowed_level in ringwaked.toml(5), and level in the file of \(app), decide"
        case nil: nil
        }
    }
}
