import FileSystem
import RingwakeCore

/// The file that configures one app: `ID.toml` in the daemon's folder of apps.
struct AppFile: Equatable {
    /// Everyone may read it: it names a program and holds no secret.
    static let mode: UInt32 = 0o644
    /// Maximum bytes of an existing file, which is restored if the daemon refuses the new one.
    static let maximumBytes = 64 * 1024

    let path: String

    init(app: AppID, directory: String) {
        path = directory + (directory.hasSuffix("/") ? "" : "/") + AppFile.name(of: app)
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

    /// The file's contents; nil if there is no file.
    func contents() throws(RingwakeError) -> [UInt8]? {
        guard FileSystem.exists(path) else { return nil }
        return try withFiles { () throws(FileSystemError) in
            try FileSystem.read(path, maximumSize: AppFile.maximumBytes)
        }
    }

    /// Writes `contents` to the file (nil: removes it), then sends the request. Restores the file if the request
    /// fails.
    func change<Answer>(
        to contents: [UInt8]?, _ ask: () throws(RingwakeError) -> Answer
    ) throws(RingwakeError) -> Answer {
        let previous = try self.contents()
        if previous != contents { try put(contents) }
        do throws(RingwakeError) {
            return try ask()
        } catch let refusal {
            guard previous != contents else { throw refusal }
            do throws(RingwakeError) {
                try put(previous)
            } catch {
                throw RingwakeError(
                    refusal.code,
                    "the daemon refused: \(refusal.message); and '\(path)' could not be restored (\(error.message)): "
                        + "repair it by hand")
            }
            throw RingwakeError(refusal.code, "the daemon refused, nothing was changed: \(refusal.message)")
        }
    }

    private func put(_ contents: [UInt8]?) throws(RingwakeError) {
        try withFiles { () throws(FileSystemError) in
            if let contents {
                try FileSystem.replace(path, with: contents, mode: AppFile.mode)
            } else {
                try FileSystem.remove(path)
            }
        }
    }
}
