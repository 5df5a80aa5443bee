import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("The documents and the manual pages say of each key what the tables of settings say")
nonisolated struct DocumentedSettingsTests {
    private static let defaults = Configuration(
        file: "/etc/ringwake/ringwaked.toml", defaults: StandardPaths(isRoot: true, environment: [:]))
    private static let daemon = Configuration.table.flatMap { $0.facts(defaults) }
    private static let app: [SettingFacts] = {
        guard let id = AppID("com.example.phone") else { return [] }
        let blank = AppConfiguration(id: id, file: "", defaults: defaults)
        return AppConfiguration.table.flatMap { $0.facts(blank) }
    }()

    /// The cells of a row but the last, which says what the key means.
    private static func row(_ facts: SettingFacts, hasForce: Bool) -> String {
        let isRange = facts.accepts.count == 2 && facts.accepts.allSatisfy { $0.first?.isNumber == true }
        let values =
            isRange
            ? facts.accepts.joined(separator: " to ") : facts.accepts.map { "`\($0)`" }.joined(separator: ", ")
        let isWords = facts.standard.contains(" ") || ["none", "any"].contains(facts.standard)
        let cells = ["`\(facts.key)`", facts.type, values, isWords ? facts.standard : "`\(facts.standard)`"]
        return "| " + (cells + (hasForce ? [facts.needsRestart ? "restart" : "reload"] : [])).joined(separator: " | ")
            + " | "
    }

    @Test("Documentation/configuration.md has a row for each key of ringwaked.toml, and no other", arguments: daemon)
    func daemonRow(facts: SettingFacts) throws {
        let expected = Self.row(facts, hasForce: true)
        let lines = try document("Documentation/configuration.md").split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix(expected) }, "Documentation/configuration.md: \(expected)")
    }

    @Test("Documentation/configuration.md has no row for a key that there is not")
    func unknownRows() throws {
        let text = try document("Documentation/configuration.md")
        let keys = Set((Self.daemon + Self.app).map(\.key) + ["calls.*", "strikes.*", "payload.*"])
        for line in text.split(separator: "\n") where line.hasPrefix("| `") && line.contains(".") {
            let key = String(line.dropFirst(3).prefix { $0 != "`" })
            if key.contains("."), !key.hasPrefix("/") {
                #expect(keys.contains(key), "Documentation/configuration.md: '\(key)' is not a setting")
            }
        }
    }

    @Test("It has a row for each key of an app's file", arguments: app)
    func appRow(facts: SettingFacts) throws {
        let lines = try document("Documentation/configuration.md").split(separator: "\n")
        let section = facts.key.prefix { $0 != "." }
        let row =
            switch section {
            // As in ringwaked.toml.
            case "calls", "strikes": "| `\(section).*` | "
            case "payload" where facts.key != "payload.preset": "| `\(facts.key.dropFirst("payload.".count))` | "
            default: Self.row(facts, hasForce: false)
            }
        #expect(lines.contains { $0.hasPrefix(row) }, "Documentation/configuration.md: \(row)")
    }

    /// The items of a manual page by key; `section` is the text of its `.Ss`.
    private static func items(_ page: String, from start: String, to end: String) throws -> [String: String] {
        let text = try document("deploy/man/\(page)")
        var items: [String: String] = [:]
        var (section, keys): (String, [String]) = ("", [])
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix(".Ss ") || line.hasPrefix(".Sh ") {
                isInside = isInside ? !line.hasSuffix(end) : line.hasSuffix(start)
                let name = line.dropFirst(4).filter { !"[]".contains($0) }
                section = line.contains("[") ? name + "." : ""
                keys = []
            } else if isInside, line.hasPrefix(".It Ic ") {
                keys = line.dropFirst(7).split(separator: " ").filter { $0 != "," }.map { section + $0 }
                for key in keys { items[key, default: ""] += "" }
            } else if isInside {
                for key in keys { items[key]? += line + "\n" }
            }
        }
        return items
    }

    @Test("ringwaked.toml(5) has each key of ringwaked.toml, its words, the ends of its range and its default")
    func manualPage() throws {
        let items = try Self.items("ringwaked.toml.5", from: "Before the first section", to: "Apps")
        for facts in Self.daemon {
            guard let text = items[facts.key] else {
                Issue.record("deploy/man/ringwaked.toml.5: '\(facts.key)' is missing")
                continue
            }
            Self.expect(text, names: facts, "deploy/man/ringwaked.toml.5")
        }
        for key in items.keys where !Self.daemon.contains(where: { $0.key == key }) {
            Issue.record("deploy/man/ringwaked.toml.5: '\(key)' is not a setting")
        }
    }

    @Test("ringwaked.toml(5) has each key of an app's file")
    func manualPageOfApps() throws {
        let items = try Self.items("ringwaked.toml.5", from: "Apps", to: "EXAMPLES")
        let text = try document("deploy/man/ringwaked.toml.5")
        let apps = text.split(separator: "\n").drop { $0 != ".Ss Apps" }.joined(separator: "\n")
        let words = Set(apps.split { !($0.isLetter || $0 == "_") })
        for facts in Self.app {
            let name = String(facts.key.split(separator: ".").last ?? "")
            guard !facts.key.hasPrefix("calls."), !facts.key.hasPrefix("strikes.") else { continue }
            #expect(words.contains(Substring(name)), "deploy/man/ringwaked.toml.5: '\(facts.key)' is missing")
            if let item = items[name] { Self.expect(item, names: facts, "deploy/man/ringwaked.toml.5") }
        }
    }

    private static func expect(_ text: String, names facts: SettingFacts, _ file: String) {
        let words = text.split { !($0.isLetter || $0.isNumber || "_-+".contains($0)) }
        let isFixed = !facts.standard.contains { " `/".contains($0) } && !["none", "any"].contains(facts.standard)
        for word in facts.accepts + (isFixed ? [facts.standard] : []) {
            #expect(words.contains(Substring(word)), "\(file): '\(facts.key)' does not name '\(word)'")
        }
    }

    @Test(
        "What needs a restart is listed where a reload is described",
        arguments: [
            ("deploy/man/ringwaked.8", ".It Dv SIGHUP", ".It Dv SIGTERM"),
            ("Documentation/configuration.md", "## Reload", "## "),
        ])
    func restartList(file: String, start: String, end: String) throws {
        let lines = try document(file).split(separator: "\n", omittingEmptySubsequences: false)
        let rest = lines.drop { !$0.hasPrefix(start) }.dropFirst()
        let text = rest.prefix { !$0.hasPrefix(end) }.joined(separator: "\n")
        let listed = Set(text.split { !($0.isLetter || "_.".contains($0)) })
        for setting in Configuration.table {
            let label = setting.label(Self.defaults)
            #expect(listed.contains(Substring(label)) == setting.needsRestart, "\(file): \(label)")
        }
    }
}
