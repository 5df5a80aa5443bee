import RingwakeCore

@testable import DaemonConfiguration

/// The TOML files of the daemon, its apps and its teams. A person may write what they like into the first; apps and
/// packages bring the others.
enum ConfigurationHarness {
    /// `ringwaked.toml`, alone and with itself as a drop-in.
    static let daemon = Harness("configuration") { input in
        try read(input) { document throws(RingwakeError) in
            var configuration = blank
            var merged = document
            merged.merge(document)
            _ = try? Configuration.table.read(TOMLReader(merged), into: &configuration)
            configuration = blank
            try Configuration.table.read(TOMLReader(document), into: &configuration)
            _ = SettingOrigin.all(of: configuration, from: document)
            _ = Configuration.change(from: blank, to: configuration)
        }
    }

    /// `apps.d/com.example.phone.toml`.
    static let app = Harness("configuration-app") { input in
        try read(input) { document throws(RingwakeError) in
            guard let id = AppID("com.example.phone") else { return }
            var app = AppConfiguration(id: id, file: file, defaults: blank)
            try AppConfiguration.table.read(TOMLReader(document), into: &app)
            _ = app.resolved
        }
    }

    /// `teams.d/TEAM123456.toml`.
    static let team = Harness("configuration-team") { input in
        try read(input) { document throws(RingwakeError) in
            var team = Configuration.Team(id: "TEAM123456", file: file)
            try Configuration.teamFile.read(TOMLReader(document), into: &team)
        }
    }

    private static let file = "/etc/ringwake/file.toml"
    private static let blank = Configuration(file: file, defaults: StandardPaths(isRoot: true, environment: [:]))

    /// Returns whether the file is right. An error names the file and is one line.
    private static func read(_ input: [UInt8], _ body: (TOMLDocument) throws(RingwakeError) -> Void) throws -> Bool {
        do throws(RingwakeError) {
            try body(try TOMLDocument(parsing: input, file: file))
            return true
        } catch {
            try requireEqual(error.code.slug, RingwakeError.Code.badConfiguration.slug, "another error: \(error)")
            try require(error.message.hasPrefix(file + ":"), "an error that names no place: \(error)")
            return false
        }
    }
}
