import DeviceServices
import HandlerActivation
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("What the configuration says of calls: rules, strikes, ringing, restrictions, the four ways to wake")
struct CallConfigurationTests {
    private typealias Folder = ConfigurationTests.Folder
    private static let name = "com.example.phone.toml"

    private func app(_ text: String, configuration: String = "") throws -> (AppConfiguration, Configuration) {
        let loaded = try Folder(configuration, apps: [Self.name: text]).load()
        return (try #require(loaded.apps.values.first), loaded)
    }

    @Test("An app's rules come before the daemon's, each by itself")
    func rules() throws {
        let (app, _) = try app(
            """
            [wake]
            exec = ["/usr/bin/handler"]
            [calls]
            ringer = "daemon"
            claim = "2s"
            when_cellular = "keep"
            [strikes]
            limit = 2
            """,
            configuration: """
                [calls]
                ringer = "app"
                fallback = "ring"
                when_busy = "reject"
                others = "end"
                when_cellular = "end"
                [strikes]
                limit = 0
                window = "5m"
                """)
        var expected = AppPolicy(deadlines: CallDeadlines(claim: .seconds(2)))
        expected.ringer = .daemon
        expected.fallback = .ring
        expected.whenBusy = .reject
        expected.others = .end
        expected.whenCellular = .keep
        expected.strikes = StrikeLimit(count: 2, window: .seconds(300))
        #expect(app.policy == expected)
    }

    @Test("The device's own sections")
    func device() throws {
        let folder = try Folder(
            """
            [wake]
            way = "unit"
            manager = "system"
            [ring]
            command = ["/usr/bin/play", "{file}"]
            ringtone = "tone.oga"
            vibrate = ["/usr/bin/buzz"]
            waiting = ["/usr/bin/beep", "-q"]
            notifications = true
            [restrictions]
            allowed_level = 12
            app_calls = "30/1h"
            caller_calls = "5/10m"
            country = "49"
            trunk = "0"
            [awake]
            by = "kernel"
            during = "ringing"
            held = false
            [cellular]
            watch = false
            [restoration]
            exclude = ["calls", "dnd"]
            """, apps: [Self.name: "[wake]\nexec = [\"/a\", \"b\"]"])
        let configuration = try folder.load()
        #expect(configuration.ring.command == ["/usr/bin/play", "{file}"])
        #expect(configuration.ring.ringtone == folder.path + "/tone.oga" && configuration.ring.notifications)
        #expect(
            configuration.ring.vibrate == ["/usr/bin/buzz"] && configuration.ring.waiting == ["/usr/bin/beep", "-q"])
        #expect(configuration.restrictions.allowedLevel == 12)
        #expect(configuration.restrictions.limits.app == CallLimit("30/1h"))
        #expect(configuration.restrictions.limits.caller == CallLimit("5/10m"))
        #expect(configuration.awake.rule.during == .ringing && !configuration.awake.rule.held)
        #expect(configuration.awake.mode == .kernel && !configuration.watchesCellular)
        #expect(configuration.notRestored == [.calls, .dnd])
        #expect(configuration.apps.values.first?.way == .transientUnit(["/a", "b"], .system))
    }

    @Test(
        "Each way to wake is read",
        arguments: [
            ("exec = [\"/a\"]\nway = \"unit\"\nmanager = \"user\"", HandlerWay.transientUnit(["/a"], .user)),
            ("unit = \"phone@.service\"\nmanager = \"user\"", .unit("phone@.service", .user)),
            ("socket = \"/run/phone.sock\"", .socket("/run/phone.sock")),
            (
                "dbus = \"com.example.Phone\"\nbus = \"session\"",
                .dbus(DBusHandlerName(name: "com.example.Phone", path: "/com/example/Phone", bus: .session))
            ),
            (
                "dbus = \"com.example.Phone\"\nbus = \"system\"\npath = \"/x\"",
                .dbus(DBusHandlerName(name: "com.example.Phone", path: "/x", bus: .system))
            ),
        ])
    func ways(text: String, way: HandlerWay) throws {
        #expect(try app("[wake]\n" + text).0.way == way)
    }

    @Test("A rating is a level, and what apps apply is read with it")
    func ratings() throws {
        for rating in ContentRating.allCases {
            let folder = try Folder(
                "[restrictions]\nrating = \"\(rating.rawValue)\"\nexplicit_content = false\nvideo_calls = false\n")
            let restrictions = try folder.load().restrictions
            #expect(restrictions.allowedLevel == rating.level)
            #expect(restrictions.content == .init(allowsExplicitContent: false, allowsVideoCalls: false))
        }
        let standard = try Folder("").load().restrictions
        #expect(standard.allowedLevel == nil && standard.content == ContentRestrictions())
        for (lines, problem) in [
            ("rating = \"13+\"", "has to be one of '4+', '9+', '12+', '17+'"),
            ("allowed_level = 4\nrating = \"4+\"", "'restrictions.rating' says the same as 'allowed_level'"),
        ] {
            #expect {
                try Folder("[restrictions]\n" + lines).load()
            } throws: { ($0 as? RingwakeError)?.message.contains(problem) == true }
        }
    }

    @Test("An app whose handler only connects by itself has no way")
    func connectedOnly() throws {
        #expect(try app("[wake]\nconnected = true").0.way == nil)
    }

    @Test(
        "What does not go together, or is none of the words, is an error that names the place",
        arguments: [
            ("[wake]\nexec = [\"/a\"]\nsocket = \"/b\"", ":3: 'wake.socket' cannot be combined with 'exec'"),
            ("[wake]\nsocket = \"b\"", ":2: 'wake.socket' has to be the absolute path"),
            ("[wake]\nsocket = \"/b\"\npath = \"/x\"", ":3: 'wake.path' has no effect with 'socket'"),
            ("[wake]\nunit = \"\"", ":2: 'wake.unit' has to be a text that is not empty"),
            ("[wake]\ndbus = \"a.b\"\nmanager = \"user\"", ":3: 'wake.manager' has no effect with 'dbus'"),
            (
                "[wake]\ndbus = \"a.b\"\nbus = \"home\"",
                ":3: 'wake.bus' has to be one of 'session', 'system', not 'home'"
            ),
            ("[wake]\nexec = [\"/a\"]\nconnected = true", ":3: 'wake.connected' says that the daemon starts nothing"),
            (
                "[wake]\nconnected = true\n[calls]\nringer = \"me\"",
                ":4: 'calls.ringer' has to be one of 'app', 'daemon'"
            ),
            ("[wake]\nconnected = true\n[strikes]\nlimit = -1", ":4: 'strikes.limit' has to be a whole number"),
            ("[wake]\nconnected = true\n[restrictions]\nlevel = 99", ":4: 'restrictions.level' has to be"),
            (
                "[wake]\nconnected = true\n[restrictions]\napp_calls = \"many\"",
                ":4: 'restrictions.app_calls' has to be a number of calls and a time"
            ),
            ("[wake]\nconnected = true\n[ring]\ncommand = [\"/a\"]", ":4: 'ring.command' is not a setting"),
        ])
    func mistakes(text: String, problem: String) throws {
        do {
            _ = try app(text)
            Issue.record("accepted: \(text)")
        } catch let error as RingwakeError {
            #expect(error.code == .badConfiguration && error.message.contains(problem), "\(error.message)")
        }
    }

    @Test(
        "The same of ringwaked.toml",
        arguments: [
            ("[ring]\ncommand = [\"play\"]", ":2: 'ring.command' has to begin with the program's absolute path"),
            ("[ring]\ncommand = [\"/play\", \"{file}\"]", "'ring.ringtone' is missing"),
            ("[restrictions]\ncountry = \"+49\"", ":2: 'restrictions.country' is wrong: '+49' is no calling code"),
            ("[restoration]\nexclude = [\"all\"]", ":2: 'restoration.exclude' has 'all'; the groups are calls,"),
            ("[awake]\nby = \"coffee\"", ":2: 'awake.by' has to be one of 'auto',"),
        ])
    func deviceMistakes(text: String, problem: String) throws {
        do {
            _ = try Folder(text).load()
            Issue.record("accepted: \(text)")
        } catch let error as RingwakeError {
            #expect(error.code == .badConfiguration && error.message.contains(problem), "\(error.message)")
        }
    }
}
