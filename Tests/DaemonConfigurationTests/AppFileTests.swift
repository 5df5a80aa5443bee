import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("An app's file: handlers, where its payload says what, and deadlines of its own")
struct AppFileTests {
    private static let name = "com.example.phone.toml"
    private static let wake = "[wake]\nexec = [\"/usr/bin/handler\"]\n"

    private func app(_ text: String, configuration: String = "") throws -> (AppConfiguration, Configuration) {
        let loaded = try ConfigurationTests.Folder(configuration, apps: [Self.name: text]).load()
        return (try #require(loaded.apps.values.first), loaded)
    }

    private func mapping(_ payload: String) throws -> PayloadMapping {
        try app(Self.wake + "[payload]\n" + payload).0.mapping
    }

    @Test("A file that only says how to wake: one handler, nothing mapped, the daemon's deadlines")
    func defaults() throws {
        let (app, _) = try app(Self.wake, configuration: "[calls]\nring = \"20s\"")
        #expect(app.instances == .app && app.mapping == PayloadMapping())
        #expect(app.policy == AppPolicy(deadlines: CallDeadlines(ring: .seconds(20))))
    }

    @Test("An app's deadlines come before the daemon's, each by itself")
    func deadlines() throws {
        let (app, _) = try app(
            Self.wake + "instances = \"call\"\n[calls]\nring = \"30s\"\nconnected = \"2d\"",
            configuration: "[calls]\nreport = \"3s\"\nring = \"20s\"")
        #expect(app.instances == .call)
        #expect(
            app.policy
                == AppPolicy(
                    deadlines: CallDeadlines(report: .seconds(3), ring: .seconds(30), connected: .seconds(172_800)),
                    instances: .call))
        let whole = try self.app(
            Self.wake + "[calls]\nreport = \"1s\"\nring = \"2s\"\naction = \"3s\"\nconnected = \"4s\"")
        #expect(
            whole.0.policy.deadlines
                == CallDeadlines(
                    report: .seconds(1), ring: .seconds(2), action: .seconds(3), connected: .seconds(4)))
    }

    @Test("Each key of [payload] maps its own fact")
    func pointers() throws {
        var expected = PayloadMapping()
        expected.call = try JSONPointer("/data/call-id")
        expected.caller = try JSONPointer("/from")
        expected.callerName = try JSONPointer("/names/0")
        expected.video = .init(at: try JSONPointer("/video"))
        expected.cancel = .init(at: try JSONPointer("/cancel"))
        expected.sentAt = try JSONPointer("/a~1b")
        expected.ringTime = try JSONPointer("/ttl")
        #expect(
            try mapping(
                """
                call = "/data/call-id"
                caller = "/from"
                caller_name = "/names/0"
                video = "/video"
                cancel = "/cancel"
                sent_at = "/a~1b"
                ring_time = "/ttl"
                """) == expected)
    }

    @Test("A preset is a beginning: pointers come before its own, empty ones take its own away")
    func presets() throws {
        for name in PayloadMapping.presetNames {
            #expect(try mapping("preset = \"\(name)\"") == PayloadMapping.preset(name))
        }
        var expected = try #require(PayloadMapping.preset("flexisip"))
        expected.call = try JSONPointer("/data/call-id")
        expected.ringTime = nil
        #expect(try mapping("preset = \"flexisip\"\ncall = \"/data/call-id\"\nring_time = \"\"") == expected)
        // Whatever the order.
        #expect(try mapping("ring_time = \"\"\ncall = \"/data/call-id\"\npreset = \"flexisip\"") == expected)
        let twilio = try mapping("preset = \"twilio\"\ncancel = \"\"")
        #expect(twilio.cancel == nil && twilio.call != nil)
        // A pointer alone takes the preset's values away, also where it is the same.
        let plain = try mapping("preset = \"twilio\"\ncancel = \"/twi_message_type\"")
        #expect(plain.cancel == .init(at: try JSONPointer("/twi_message_type")))
        #expect(try mapping("preset = \"sygnal\"\nvideo = \"\"").video == nil)
        #expect(try mapping("preset = \"sygnal\"\nvideo = \"/v\"").video == .init(at: try JSONPointer("/v")))
    }

    @Test(
        "Each preset is what Documentation/configuration.md says it is",
        arguments: [
            (
                "flexisip",
                """
                call = "/aps/call-id"
                caller = "/from-uri"
                caller_name = "/display-name"
                sent_at = "/aps/send-time"
                ring_time = "/pn_ttl"
                """
            ),
            (
                "sygnal",
                """
                call = "/event_id"
                caller_name = "/aps/alert/loc-args/0"
                video = { at = "/aps/alert/loc-key", is = ["VIDEO_CALL_FROM_USER"] }
                """
            ),
            (
                "twilio",
                """
                call = "/twi_call_sid"
                caller = "/twi_from"
                cancel = { at = "/twi_message_type", is = ["twilio.voice.cancel"] }
                """
            ),
            (
                "ringwake",
                """
                call = "/ringwake/call"
                caller = "/ringwake/caller"
                caller_name = "/ringwake/callerName"
                video = "/ringwake/video"
                cancel = "/ringwake/cancel"
                sent_at = "/ringwake/sentAt"
                age = "/ringwake/age"
                ring_time = "/ringwake/ringTime"
                """
            ),
        ])
    func documentedPresets(name: String, payload: String) throws {
        #expect(try mapping(payload) == PayloadMapping.preset(name))
    }

    @Test("Video and cancel may be certain values of a place, cancel also with reasons")
    func values() throws {
        let mapping = try mapping(
            """
            video = { at = "/kind", is = ["video", "screen"] }
            cancel = { at = "/type", is = ["hangup"], answered_elsewhere = ["answer"], declined_elsewhere = ["no"] }
            """)
        #expect(mapping.video == .init(at: try JSONPointer("/kind"), values: ["video", "screen"]))
        #expect(
            mapping.cancel
                == .init(
                    at: try JSONPointer("/type"),
                    values: ["hangup": .cancelled, "answer": .answeredElsewhere, "no": .declinedElsewhere]))
        let reasonsAlone = try self.mapping("[payload.cancel]\nat = \"/type\"\nanswered_elsewhere = [\"answer\"]")
        #expect(reasonsAlone.cancel == .init(at: try JSONPointer("/type"), values: ["answer": .answeredElsewhere]))
        #expect(try self.mapping("cancel = { at = \"/c\" }").cancel == .init(at: try JSONPointer("/c")))
    }

    @Test(
        "What is wrong is an error with file, line and what to do",
        arguments: [
            (
                "call = \"data\"",
                ":4: 'payload.call' is not a JSON Pointer such as \"/aps/call-id\": 'data' does not begin"
            ),
            ("call = \"/a~2\"", ":4: 'payload.call' is not a JSON Pointer"),
            ("call = 1", ":4: 'payload.call' has to be text in quotes"),
            ("calls = \"/a\"", ":4: 'payload.calls' is not a setting; did you mean 'payload.call'?"),
            ("callerName = \"/a\"", ":4: 'payload.callerName' is not a setting; did you mean 'payload.caller_name'?"),
            (
                "preset = \"flexisp\"",
                ":4: 'payload.preset' has to be one of 'flexisip', 'ringwake', 'sygnal', 'twilio', not 'flexisp'"
            ),
            (
                "preset = \"asterisk-and-more\"",
                ":4: 'payload.preset' has to be one of 'flexisip', 'ringwake', 'sygnal', 'twilio', not 'asterisk-and-more'"
            ),
            ("caller = { at = \"/a\" }", ":4: 'payload.caller' has to be text in quotes"),
            ("cancel = {}", ":4: 'payload.cancel.at' is missing"),
            ("cancel = { at = \"\" }", "'payload.cancel.at' is empty, which means the whole payload"),
            ("cancel = { at = \"a\" }", "'payload.cancel.at' is not a JSON Pointer"),
            ("cancel = { at = \"/a\", is = [] }", "'payload.cancel.is' is empty"),
            ("cancel = { at = \"/a\", is = \"b\" }", "'payload.cancel.is' has to be an array of texts"),
            (
                "cancel = { at = \"/a\", is = [\"x\"], answered_elsewhere = [\"x\"] }",
                "'payload.cancel.answered_elsewhere' has 'x' a second time"
            ),
            ("cancel = { at = \"/a\", answered = [\"x\"] }", "'payload.cancel.answered' is not a setting"),
            ("video = { at = \"/a\", answered_elsewhere = [\"x\"] }", "'payload.video.answered_elsewhere' is not"),
            ("video = true", ":4: 'payload.video' has to be text in quotes"),
            ("[calls]\nrings = \"3s\"", ":5: 'calls.rings' is not a setting; did you mean 'calls.ring'?"),
            ("[calls]\nring = 3", ":5: 'calls.ring' has to be a duration"),
            ("[payload]", ":4:"),
        ])
    func mistakes(text: String, problem: String) throws {
        try expect(Self.wake + "[payload]\n" + text, problem)
    }

    @Test("instances is app or call")
    func instances() throws {
        try expect(
            Self.wake + "instances = \"push\"", ":3: 'wake.instances' has to be one of 'app', 'call', not 'push'")
    }

    private func expect(_ text: String, _ problem: String) throws {
        let folder = try ConfigurationTests.Folder("", apps: [Self.name: text])
        do {
            _ = try folder.load()
            Issue.record("accepted: \(text)")
        } catch {
            #expect(error.code == .badConfiguration)
            #expect(error.message.hasPrefix(folder.path + "/apps.d/" + Self.name))
            #expect(error.message.contains(problem), "\(error.message)")
        }
    }
}
