import RingwakeCore

/// The file that configures one app: `ID.toml` in the daemon's folder of apps.
enum AppFile {
    static func of(_ app: AppID, in directory: String) -> ConfiguredFile {
        ConfiguredFile(path: directory + (directory.hasSuffix("/") ? "" : "/") + AppFile.name(of: app))
    }

    static func name(of app: AppID) -> String { app.rawValue + ".toml" }

    /// The contents of an app's file: the lines of `[wake]`, the tables of its rules, and the preset for its payload.
    static func text(wake: [String], rules: [String] = [], payload: String? = nil) -> String {
        var lines = [
            "# How ringwaked wakes this app; see ringwaked.toml(5). Written by 'ringwake app add'.",
            "[wake]",
        ]
        lines += wake + rules
        if let payload {
            lines += ["", "[payload]", "preset = \(tomlString(payload))"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// `text` as a basic string of TOML 1.0.
    static func tomlString(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{00}"..."\u{1F}", "\u{7F}":
                let hex = String(scalar.value, radix: 16, uppercase: true)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
