import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("[protection] in ringwaked.toml")
struct ProtectionConfigurationTests {
    private typealias Folder = ConfigurationTests.Folder

    @Test("Everything has a default")
    func defaults() throws {
        let protection = try Folder("").load().protection
        #expect(protection.rootKey == .auto && protection.lock == nil)
        #expect(
            protection.classes.byKind
                == [
                    .payloads: .completeUntilFirstUserAuthentication, .callers: .completeUntilFirstUserAuthentication,
                    .appState: .completeUntilFirstUserAuthentication, .lists: .completeUntilFirstUserAuthentication,
                ])
    }

    @Test("Each key is read")
    func everyKey() throws {
        let protection = try Folder(
            """
            [protection]
            root_key = "/etc/ringwake/protection.key"
            lock = "command"
            [protection.classes]
            payloads = "complete"
            callers = "none"
            app_state = "completeUnlessOpen"
            lists = "none"
            """
        ).load().protection
        #expect(protection.rootKey == .file("/etc/ringwake/protection.key") && protection.lock == .command)
        #expect(
            protection.classes.byKind == [
                .payloads: .complete, .callers: .none, .appState: .completeUnlessOpen, .lists: .none,
            ])
    }

    @Test("Each word for the root key is read", arguments: ["auto", "off", "credential", "passphrase", "tpm"])
    func words(word: String) throws {
        #expect(try Folder("[protection]\nroot_key = \"\(word)\"").load().protection.rootKey.text == word)
    }

    @Test("A change needs a restart")
    func restart() throws {
        let change = Configuration.change(
            from: try Folder("").load(), to: try Folder("[protection]\nroot_key = \"off\"").load())
        #expect(change.needsRestart == ["protection"] && change.configuration.protection.rootKey == .auto)
    }

    @Test(
        "A mistake is refused with its line",
        arguments: [
            ("[protection]\nroot_key = \"key.bin\"", ":2: 'protection.root_key' has to be one of 'auto', 'off',"),
            (
                "[protection]\nrootkey = \"off\"",
                ":2: 'protection.rootkey' is not a setting; did you mean 'protection.root_key'?"
            ),
            ("[protection]\nlock = \"never\"", ":2: 'protection.lock' has to be one of 'session', 'command'"),
            (
                "[protection.classes]\npayloads = \"secret\"",
                ":2: 'protection.classes.payloads' has to be one of 'none', 'complete',"
            ),
            ("[protection.classes]\ncaller = \"none\"", "did you mean 'protection.classes.callers'?"),
        ])
    func mistakes(text: String, problem: String) throws {
        do {
            _ = try Folder(text).load()
            Issue.record("accepted: \(text)")
        } catch let error as RingwakeError {
            #expect(error.code == .badConfiguration && error.message.contains(problem), "\(error.message)")
        }
    }
}
