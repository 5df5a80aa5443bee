import Reachability
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("The section [reachability], of the daemon and of an app")
struct ReachabilityConfigurationTests {
    private static let app = "com.example.phone.toml"
    private static let wake = "[wake]\nexec = [\"/usr/bin/handler\"]\n"

    private func load(_ text: String, app: String = wake) throws -> Configuration {
        try ConfigurationTests.Folder(text, apps: [Self.app: app]).load()
    }

    @Test("Without it everything is as the library has it")
    func defaults() throws {
        let configuration = try load("")
        #expect(configuration.reachability == ReachabilityConfiguration())
        #expect(configuration.apps.values.map(\.targets) == [[]])
    }

    @Test("Hold, level and interfaces are read; what an interface leaves open stays open")
    func whole() throws {
        let reachability = try load(
            """
            [reachability]
            loss_hold = "0s"
            filter_level = 2

            [[reachability.interface]]
            name = "usb0"
            type = "cellular"
            expensive = true
            constrained = true
            intervention_required = true
            on_demand = true

            [[reachability.interface]]
            name = "eth*"
            expensive = false
            """
        ).reachability
        #expect(reachability.lossHold == .zero && reachability.filterLevel == 2)
        #expect(
            reachability.interfaces == [
                InterfaceOverride(
                    name: "usb0", type: .cellular, isExpensive: true, isConstrained: true, interventionRequired: true,
                    connectionOnDemand: true),
                InterfaceOverride(name: "eth*", isExpensive: false),
            ])
        #expect(try load("[reachability]\nloss_hold = \"60s\"").reachability.lossHold == .seconds(60))
    }

    @Test(
        "What is wrong is an error with file, line and what to do",
        arguments: [
            ("loss_hold = \"61s\"", ":2: 'reachability.loss_hold' has to be a duration from \"0s\" to \"60s\""),
            ("loss_hold = \"soon\"", ":2: 'reachability.loss_hold' has to be a duration"),
            ("loss_hold = 200", ":2: 'reachability.loss_hold' has to be a duration"),
            ("loss_hold = \"-1s\"", ":2: 'reachability.loss_hold' has to be a duration"),
            ("filter_level = 5", ":2: 'reachability.filter_level' has to be a whole number from 0 to 4"),
            (
                "filter_levle = 1",
                ":2: 'reachability.filter_levle' is not a setting; did you mean 'reachability.filter_l"
            ),
            ("targets = [\"any\"]", ":2: 'reachability.targets' is not a setting"),
            ("interface = 1", ":2: 'reachability.interface' has to be an array of tables"),
            ("[[reachability.interface]]\ntype = \"wifi\"", "'reachability.interface.name' is missing"),
            ("[[reachability.interface]]\nname = \"\"", "'reachability.interface.name' has to be an interface's name"),
            (
                "[[reachability.interface]]\nname = \"a/b\"",
                "'reachability.interface.name' has to be an interface's name"
            ),
            (
                "[[reachability.interface]]\nname = \"a b\"",
                "'reachability.interface.name' has to be an interface's name"
            ),
            (
                "[[reachability.interface]]\nname = \"0123456789012345\"",
                ":3: 'reachability.interface.name' has to be an"
            ),
            (
                "[[reachability.interface]]\nname = \"a\"\n[[reachability.interface]]\nname = \"a\"",
                ":5: 'reachability.interface.name' 'a' appears twice"
            ),
            (
                "[[reachability.interface]]\nname = \"a\"\ntype = \"wify\"",
                ":4: 'reachability.interface.type' has to be one of 'wifi', 'cellular', 'wiredEthernet', 'loopback', 'other', not 'wify'"
            ),
            (
                "[[reachability.interface]]\nname = \"a\"\nexpensive = 1",
                ":4: 'reachability.interface.expensive' has to be true or false"
            ),
            (
                "[[reachability.interface]]\nname = \"a\"\nmetered = true",
                ":4: 'reachability.interface.metered' is not a setting; known here: constrained, expensive"
            ),
        ])
    func mistakes(text: String, problem: String) throws {
        let folder = try ConfigurationTests.Folder("[reachability]\n" + text)
        let error = #expect(throws: RingwakeError.self) { try folder.load() }
        #expect(error?.code == .badConfiguration)
        #expect(error?.message.hasPrefix(folder.file) == true)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test("More interfaces than can be meant are refused")
    func manyInterfaces() throws {
        let sections = (0..<65).map { "[[reachability.interface]]\nname = \"eth\($0)\"\n" }
        #expect(try load(sections.dropLast().joined()).reachability.interfaces.count == 64)
        #expect(throws: RingwakeError.self) { try load(sections.joined()) }
    }

    @Test("An app names what it has to reach, each once")
    func targets() throws {
        let text = "[reachability]\ntargets = [\"SIP.example.org\", \"192.0.2.1\", \"sip.example.org\", \"any\"]"
        let app = try #require(try load("", app: Self.wake + text).apps.values.first)
        #expect(app.targets.map(\.description) == ["sip.example.org", "192.0.2.1", "any"])
    }

    @Test("An app's user has a name or a number", arguments: [("root", 0), ("65534", 65_534), ("", nil as UInt32?)])
    func user(text: String, number: UInt32?) throws {
        let line = text.isEmpty ? "" : "user = \"\(text)\""
        let app = try #require(try load("", app: Self.wake + "[reachability]\n" + line).apps.values.first)
        #expect(app.targetsUser == number)
    }

    @Test(
        "What is no target, and more than eight, are errors with file and line",
        arguments: [
            (
                "targets = [\"sip:alice@example.org\"]",
                ":4: 'reachability.targets' has 'sip:alice@example.org', which is"
            ),
            ("targets = \"any\"", ":4: 'reachability.targets' has to be an array of texts"),
            (
                "targets = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]",
                ":4: 'reachability.targets' has 9 entries; there may be at most 8"
            ),
            ("target = [\"any\"]", ":4: 'reachability.target' is not a setting; did you mean 'reachability.targets'?"),
            ("loss_hold = \"1s\"", ":4: 'reachability.loss_hold' is not a setting"),
            ("user = \"nobody-at-all\"", ":4: 'reachability.user' names the user 'nobody-at-all', whom this machine"),
            ("user = \"4294967295\"", ":4: 'reachability.user' names the user '4294967295', whom this machine"),
            ("user = 1000", ":4: 'reachability.user' has to be text"),
        ])
    func badTargets(text: String, problem: String) throws {
        let folder = try ConfigurationTests.Folder("", apps: [Self.app: Self.wake + "[reachability]\n" + text])
        let error = #expect(throws: RingwakeError.self) { try folder.load() }
        #expect(error?.code == .badConfiguration)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }
}
