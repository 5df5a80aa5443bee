import FoundationEssentials
import DeviceServices
import HTTPServer
import HandlerActivation
import Logging
import PushJournal
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("The configuration file: what it says is checked, and what it does not say has a default")
struct ConfigurationTests {
    /// A configuration in a folder of its own, which goes with the value.
    final class Folder {
        let path: String

        init(_ text: String, apps: [String: String] = [:]) throws {
            path = FileManager.default.temporaryDirectory.appending(path: "ringwake-").path + UUID().uuidString
            try FileManager.default.createDirectory(atPath: path + "/apps.d", withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            for (name, content) in apps {
                try Data(content.utf8).write(to: URL(fileURLWithPath: path + "/apps.d/" + name))
            }
        }

        deinit {
            try? FileManager.default.removeItem(atPath: path)
        }

        var file: String { path + "/ringwaked.toml" }

        static let user = StandardPaths(
            isRoot: false, environment: ["HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7"])

        /// The configuration, of which every file has to be right.
        func load(defaults: StandardPaths = Folder.user) throws(RingwakeError) -> Configuration {
            let configuration = try loadInPart(defaults: defaults)
            if let wrong = configuration.setAside.first { throw RingwakeError(.badConfiguration, wrong.why) }
            return configuration
        }

        /// The configuration; wrong files of apps and teams are set aside.
        func loadInPart(
            defaults: StandardPaths = Folder.user, former: Configuration? = nil
        ) throws(RingwakeError) -> Configuration {
            // An optimized build would let go of the folder once its name is known.
            defer { withExtendedLifetime(self) {} }
            return try Configuration.load(file: file, defaults: defaults, former: former)
        }

        func write(_ text: String, to name: String) throws {
            let url = URL(fileURLWithPath: path + "/" + name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
    }

    private static let whole = """
        state_directory = "state"
        runtime_directory = "/run/other"

        [server]
        certificate = "certs/server.pem"
        key = "/keys/server.key"
        provider_cas = ["certs/ca.pem", "/etc/apple.pem"]

        [[listener]]
        address = "127.0.0.1:2197"
        environment = "development"

        [[listener]]
        address = "[::1]:0"

        [[team]]
        id = "DEVTEAM001"
        topics = ["com.example.phone.voip"]
        [[team.key]]
        id = "ABC123DEFG"
        file = "certs/key.pem"

        [[team]]
        id = "DEVTEAM002"

        [calls]
        report = "1500ms"
        ring = "2m"

        [journal]
        keep = "7d"
        pushes = 50000

        [log]
        level = "debug"
        """

    @Test("Everything that can be said is read; paths are relative to the file; durations have units")
    func wholeFile() throws {
        let folder = try Folder(
            ConfigurationTests.whole,
            apps: [
                "com.example.phone.toml": "[wake]\nexec = [\"/usr/bin/handler\", \"-v\"]", ".hidden.toml": "x",
                "README": "no app",
            ])
        let configuration = try folder.load()
        #expect(configuration.stateDirectory == folder.path + "/state")
        #expect(configuration.controlSocket == "/run/other/control.sock")
        #expect(
            configuration.server
                == Configuration.Server(
                    certificateFile: folder.path + "/certs/server.pem", keyFile: "/keys/server.key",
                    providerCAFiles: [folder.path + "/certs/ca.pem", "/etc/apple.pem"]))
        #expect(configuration.listeners.map(\.address.description) == ["127.0.0.1:2197", "[::1]:0"])
        #expect(configuration.listeners.map(\.environment) == [.development, .production])
        #expect(
            configuration.teams == [
                Configuration.Team(
                    id: "DEVTEAM001", file: folder.file, topics: ["com.example.phone.voip"],
                    keys: [.init(id: "ABC123DEFG", file: folder.path + "/certs/key.pem")]),
                Configuration.Team(id: "DEVTEAM002", file: folder.file, topics: nil, keys: []),
            ])
        #expect(configuration.policy.deadlines == CallDeadlines(report: .milliseconds(1500), ring: .seconds(120)))
        #expect(configuration.journal.maximumAge == .seconds(7 * 86_400))
        #expect(configuration.journal.maximumPushes == 50_000)
        #expect(configuration.logLevel == .debug)
        let app = try #require(AppID("com.example.phone"))
        #expect(configuration.apps.keys.map(\.self) == [app])
        #expect(configuration.apps[app]?.way == .exec(["/usr/bin/handler", "-v"]))
    }

    @Test("An empty file is a daemon without listeners, in the user's folders")
    func emptyFile() throws {
        let configuration = try Folder("").load()
        #expect(configuration.listeners.isEmpty && configuration.server == nil && configuration.teams.isEmpty)
        #expect(configuration.stateDirectory == "/home/u/.local/state/ringwake")
        #expect(configuration.runtimeDirectory == "/run/user/7/ringwake")
        #expect(configuration.policy.deadlines == CallDeadlines())
    }

    @Test(
        "What is wrong is an error with file, line and what to do",
        arguments: [
            (
                "[server]\ncertifcate = \"a\"",
                ":2: 'server.certifcate' is not a setting; did you mean 'server.certificate'?"
            ),
            ("\n\n[listner]\n", ":3: 'listner' is not a setting; did you mean 'listener'?"),
            (
                "zzzzzzzzzzzz = 1",
                ":1: 'zzzzzzzzzzzz' is not a setting; known here: audio, awake, calls, cellular, control_group, gateway, journal, link, listener, log, "
            ),
            ("a = ", ":1:5: not valid TOML"),
            ("a = 1\na = 2", ":2:"),
            ("[server]\ncertificate = \"a\"", "'server.key' is missing"),
            ("[server]\ncertificate = 5\nkey = \"k\"", ":2: 'server.certificate' has to be text in quotes"),
            ("[server]\nprovider_cas = \"a\"", ":2: 'server.provider_cas' has to be an array of texts"),
            ("[server]\nprovider_cas = [1]", "'server.provider_cas' has to be an array of texts"),
            ("[[listener]]\naddress = \"localhost\"", ":2: 'listener.address' has to be an address and a port"),
            ("[[listener]]\naddress = \"127.0.0.1:99999\"", ":2: 'listener.address' has to be an address and a port"),
            (
                "[[listener]]\naddress = \"127.0.0.1:1\"\nenvironment = \"test\"",
                ":3: 'listener.environment' has to be one of 'development'"
            ),
            ("[[listener]]\naddress = \"127.0.0.1:1\"", "no [server]"),
            ("[[team]]\ntopics = []", "'team.id' is missing"),
            ("[[team]]\nid = \"A\"\n[[team]]\nid = \"A\"", ":4: 'team.id' 'A' appears twice"),
            ("[[team]]\nid = \"A\"\n[[team.key]]\nid = \"K\"", "'team.key.file' is missing"),
            ("[team]\nid = \"A\"", "'team' has to be an array of tables, [[team]]"),
            ("calls = 3", ":1: 'calls' has to be a table"),
            ("[calls]\nring = \"0s\"", ":2: 'calls.ring' has to be a duration"),
            ("[calls]\nring = \"99999999999999999999h\"", "'calls.ring' has to be a duration"),
            ("[calls]\nring = \"5000000000000h\"", "'calls.ring' has to be a duration"),
            ("[calls]\nring = 45", "'calls.ring' has to be a duration"),
            ("[calls]\nring = \"367d\"", "'calls.ring' has to be a duration"),
            ("[journal]\nkeep = \"30 d\"", ":2: 'journal.keep' has to be a duration"),
            ("[journal]\npushes = 999", ":2: 'journal.pushes' has to be a whole number from 10000 to 10000000"),
            ("[journal]\npushes = \"1000\"", "'journal.pushes' has to be a whole number"),
            ("[log]\nlevel = \"loud\"", ":2: 'log.level' has to be one of 'trace', 'debug'"),
            ("state_directory = \"a\\u0000b\"", "'state_directory' has to be text without a zero byte"),
        ])
    func mistakes(text: String, problem: String) throws {
        let folder = try Folder(text)
        do {
            _ = try folder.load()
            Issue.record("accepted: \(text)")
        } catch {
            #expect(error.code == .badConfiguration)
            #expect(error.message.hasPrefix(folder.file))
            #expect(error.message.contains(problem), "\(error.message)")
        }
    }

    @Test(
        "An app's file is checked as strictly",
        arguments: [
            ("com.example.phone.toml", "[wake]\nexe = [\"/a\"]", ":2: 'wake.exe' is not a setting; did you mean"),
            ("com.example.phone.toml", "", "'wake' is missing"),
            (
                "com.example.phone.toml", "[wake]\nexec = []",
                ":2: 'wake.exec' has to begin with the handler's absolute path"
            ),
            ("com.example.phone.toml", "[wake]\nexec = [\"handler\"]", ":2: 'wake.exec' has to begin with"),
            (
                "com.example.phone.toml", "exec = [\"/a\"]",
                ":1: 'exec' is not a setting; known here: calls, payload, reachability, "
                    + "restoration, restrictions, ring, strikes, team, wake"
            ),
            ("com.example.phone.toml", "[wake]\nexec = [\"/a\"]\nunits = 1", ":3: 'wake.units' is not a setting"),
            ("not an app.toml", "[wake]\nexec = [\"/a\"]", "'not an app' is not a bundle id"),
        ])
    func appMistakes(name: String, text: String, problem: String) throws {
        let folder = try Folder("", apps: [name: text])
        do {
            _ = try folder.load()
            Issue.record("accepted: \(text)")
        } catch {
            #expect(error.code == .badConfiguration)
            #expect(error.message.hasPrefix(folder.path + "/apps.d/" + name))
            #expect(error.message.contains(problem), "\(error.message)")
        }
    }

    @Test("A file that is not there, and one that is no text, are errors that say what to do")
    func unreadable() throws {
        let folder = try Folder("")
        do {
            let defaults = StandardPaths(isRoot: true, environment: [:])
            _ = try Configuration.load(file: folder.path + "/none.toml", defaults: defaults)
            Issue.record("accepted")
        } catch {
            #expect(error.code == .notFound && error.message.contains("--config"))
        }
        try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: folder.file))
        #expect(throws: RingwakeError.self) { try folder.load() }
    }

    @Test("Deeply nested tables and arrays are an error, not the end of the stack")
    func deepNesting() throws {
        let folder = try Folder("a = " + String(repeating: "[", count: 100_000))
        #expect(throws: RingwakeError.self) { try folder.load() }
        let tables = try Folder("a = " + String(repeating: "{a=", count: 50_000))
        #expect(throws: RingwakeError.self) { try tables.load() }
        for segments in [20, 2_000, 20_000, 400_000] {
            let dotted = try Folder(Array(repeating: "a", count: segments).joined(separator: ".") + " = 1")
            #expect(throws: RingwakeError.self) { try dotted.load() }
        }
    }

    @Test("Root's folders are the system's; systemd's variables win; relative ones are passed over")
    func standardPaths() {
        let root = StandardPaths(isRoot: true, environment: ["HOME": "/root"])
        #expect(root.configurationFile == "/etc/ringwake/ringwaked.toml")
        #expect(root.stateDirectory == "/var/lib/ringwake" && root.runtimeDirectory == "/run/ringwake")
        let user = StandardPaths(
            isRoot: false,
            environment: ["HOME": "/home/u", "XDG_CONFIG_HOME": "relative", "RUNTIME_DIRECTORY": "/run/user/7/r"])
        #expect(user.configurationFile == "/home/u/.config/ringwake/ringwaked.toml")
        #expect(user.runtimeDirectory == "/run/user/7/r")
    }

    @Test("The system's daemon uses the system's systemd and bus, though its user is not root")
    func systemDaemon() throws {
        let service = StandardPaths(isRoot: false, environment: ["SYSTEMD_EXEC_PID": "42"], process: 42)
        #expect(service.isSystem && service.service == .system && service.wake.way == .unit)
        let command = ["com.example.phone.toml": "[wake]\nexec = [\"/bin/true\"]"]
        let error = #expect(throws: RingwakeError.self) { try Folder("", apps: command).load(defaults: service) }
        #expect(error?.message.contains("ringwake-handler-phone@.service") == true)
        for (text, app) in [("", "\nway = \"exec\""), ("[wake]\nway = \"exec\"", "")] {
            let allowed = try Folder(text, apps: command.mapValues { $0 + app }).load(defaults: service)
            #expect(allowed.apps.values.first?.way == .exec(["/bin/true"]))
        }
        let apps = [
            "com.example.phone.toml": "[wake]\nunit = \"phone@.service\"",
            "com.example.door.toml": "[wake]\ndbus = \"com.example.door\"",
        ]
        for (defaults, manager, bus) in [
            (service, SystemdManager.system, MessageBus.system), (Folder.user, .user, .session),
        ] {
            let loaded = try Folder("", apps: apps).load(defaults: defaults).apps
            #expect(loaded.values.contains { $0.way == .unit("phone@.service", manager) })
            #expect(loaded.values.contains { if case .dbus(let name) = $0.way { name.bus == bus } else { false } })
        }
    }

    @Test("A service of a user's systemd has it start handlers, if the file does not say otherwise")
    func defaultWay() throws {
        let variables = ["MANAGERPID": "7", "SYSTEMD_EXEC_PID": "42"]
        let service = StandardPaths(isRoot: false, environment: variables, process: 42)
        #expect(service.wake == WakeDefaults(way: .unit, manager: .user))
        // A terminal is such a service too, and what is typed there has its variables.
        #expect(StandardPaths(isRoot: false, environment: variables, process: 43).wake.way == .exec)
        // The machine's manager sets the one, but not the other.
        let machine = StandardPaths(isRoot: true, environment: ["SYSTEMD_EXEC_PID": "42"], process: 42)
        #expect(machine.wake == WakeDefaults(way: .exec, manager: nil) && machine.isSystem)
        let app = ["com.example.phone.toml": "[wake]\nexec = [\"/bin/true\"]"]
        let left = try Folder("", apps: app).load(defaults: service)
        #expect(left.apps.values.first?.way == .transientUnit(["/bin/true"], .user))
        let said = try Folder("[wake]\nway = \"exec\"", apps: app).load(defaults: service)
        #expect(said.apps.values.first?.way == .exec(["/bin/true"]))
    }

    @Test("A change is taken over part by part; what needs a restart is named and stays as it was")
    func change() throws {
        let folder = try Folder("runtime_directory = \"/run/a\"\n[ring]\nnotifications = false")
        let old = try folder.load()
        let same = Configuration.change(from: old, to: old)
        #expect(same.needsRestart == [] && same.slice(\.ring) == nil && same.slice(\.audio) == nil)
        let text = """
            runtime_directory = "/run/b"
            control_group = "staff"
            [server]
            certificate = "c"
            key = "k"
            [[listener]]
            address = "127.0.0.1:1"
            [calls]
            ring = "1m"
            [awake]
            by = "none"
            [cellular]
            watch = false
            [restoration]
            exclude = ["dnd"]
            [journal]
            keep = "1d"
            [log]
            level = "debug"
            """
        let change = Configuration.change(from: old, to: try Folder(text).load())
        #expect(
            change.needsRestart == [
                "runtime_directory", "control_group", "awake", "cellular.watch", "restoration.exclude",
                "journal", "log.level",
            ])
        let now = change.configuration
        #expect(now.runtimeDirectory == "/run/a" && now.listeners.count == 1 && now.awake == AwakeSettings())
        #expect(now.watchesCellular && now.notRestored.isEmpty && now.logLevel == .info)
        #expect(now.journal.maximumAge == .seconds(30 * 86_400))
        #expect(now.server?.keyFile.hasSuffix("/k") == true && now.policy.deadlines.ring == .seconds(60))
        #expect(change.slice(\.ring)?.notifications == true && change.slice(\.audio) == nil)
    }
}
