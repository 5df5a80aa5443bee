import FileSystem
import RingwakeCore

/// The file that configures one app: `ID.toml` in the daemon's folder of apps.
struct AppFile: Equatable {
    /// Everyone may read it: it names a program and holds no secret.
    static let mode: UInt32 = 0o644
    /// The largest file that is kept while a new one is tried, in bytes.
    static let maximumBytes = 64 * 1024

    let path: String

    init(app: AppID, directory: String) {
        path = directory + (directory.hasSuffix("/") ? "" : "/") + AppFile.name(of: app)
    }

    static func name(of app: AppID) -> String { app.rawValue + ".toml" }

    /// The contents for an app that is woken as the lines of `[wake]` say; with the tables of its rules, and with the
    /// mapping of a preset for its payload.
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

    var exists: Bool { FileSystem.exists(path) }

    /// What the file holds; nil when there is none.
    func contents() throws(RingwakeError) -> [UInt8]? {
        guard exists else { return nil }
        do throws(FileSystemError) {
            return try FileSystem.read(path, maximumSize: AppFile.maximumBytes)
        } catch {
            throw RingwakeError(error)
        }
    }

    /// Makes the file hold `contents`, or removes it for nil.
    func put(_ contents: [UInt8]?) throws(RingwakeError) {
        do throws(FileSystemError) {
            if let contents {
                try FileSystem.replace(path, with: contents, mode: AppFile.mode)
            } else {
                try FileSystem.remove(path)
            }
        } catch {
            throw RingwakeError(error)
        }
    }
}
