internal import RingwakeCore

/// The tables of a caller index, and the form of its keys.
nonisolated enum IndexSchema {
    /// An index has exactly these tables. Their text identifies the version of the format.
    static let tables = [
        // One row per pattern and kind of list: `kind` is 0 to block, 1 to identify. ``IndexRecords`` makes key and label.
        "CREATE TABLE caller (key BLOB NOT NULL, kind INTEGER NOT NULL, list INTEGER NOT NULL, label BLOB, "
            + "PRIMARY KEY (key, kind)) WITHOUT ROWID",
        "CREATE TABLE list (number INTEGER PRIMARY KEY, name TEXT NOT NULL, kind INTEGER NOT NULL)",
        // One row. `prefix_lengths` has a bit for each length of a prefix in bytes, so that only those are queried.
        "CREATE TABLE built (generation INTEGER NOT NULL, rules TEXT NOT NULL, prefix_lengths INTEGER NOT NULL, "
            + "protection TEXT NOT NULL)",
    ]

    /// The key for numbers with `prefix`. The star comes first, so that all prefixes are adjacent: their few pages stay
    /// in SQLite's cache.
    static func key(ofPrefix prefix: some StringProtocol) -> String { "*\(prefix)" }

    static func key(of pattern: CallerPattern) -> String {
        if case .numberPrefix(let prefix) = pattern.kind { key(ofPrefix: prefix) } else { pattern.description }
    }

    /// The text of the pattern with this key.
    static func pattern(ofKey key: String) -> String {
        key.hasPrefix("*") && !key.hasPrefix("*@") ? "\(key.dropFirst())*" : key
    }

    /// Identifies a set of dialling rules.
    static func stamp(of rules: DiallingRules) -> String {
        "\(rules.countryCode ?? "-")/\(rules.trunkPrefix ?? "-")/\(rules.internationalPrefix)"
    }
}

nonisolated extension CallerListKind {
    var number: Int64 { self == .block ? 0 : 1 }
}
