import FoundationEssentials
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("A team's file: its name is the team's id, and the team is in no other place")
struct TeamFileTests {
    private static let key = "[[key]]\nid = \"ABC123DEFG\"\n"

    /// Teams of a configuration with these files in `teams.d`.
    private func load(_ files: [String: String], configuration: String = "") throws -> (Configuration, String) {
        let folder = try ConfigurationTests.Folder(configuration)
        try FileManager.default.createDirectory(atPath: folder.path + "/teams.d", withIntermediateDirectories: true)
        for (name, text) in files {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/teams.d/" + name))
        }
        return (try folder.load(), folder.path)
    }

    private func refusal(_ files: [String: String], configuration: String = "") -> String {
        let error = #expect(throws: RingwakeError.self) { try load(files, configuration: configuration) }
        #expect(error?.code == .badConfiguration)
        return error?.message ?? ""
    }

    @Test(
        "A webhook needs its secret, and its other keys need it",
        arguments: [
            ("webhook = \"https://example.org/\"", "webhook_secret"), ("webhook_secret = \"s\"", "'webhook'"),
            ("webhook_ca = \"c\"", "'webhook'"),
            ("webhook = \"http://example.org/\"\nwebhook_secret = \"s\"", "http only for 127.0.0.1"),
        ])
    func webhook(lines: String, named: String) {
        #expect(refusal(["TEAM2.toml": lines + "\n"]).contains(named))
        #expect(refusal([:], configuration: "[[team]]\nid = \"TEAM1\"\n\(lines)\n").contains(named))
    }

    @Test("Teams of files follow those of ringwaked.toml; other files are ignored")
    func reads() throws {
        let (configuration, path) = try load(
            [
                "TEAM2.toml": "topics = [\"a.voip\"]\n" + Self.key + "file = \"../certs/key.pem\"\n",
                "TEAM3.toml": Self.key + "public = \"\"\"\nPEM\n\"\"\"\n", ".TEAM4.toml": "nonsense", "README": "x",
            ], configuration: "[[team]]\nid = \"TEAM1\"\n")
        #expect(
            configuration.teams == [
                .init(id: "TEAM1", file: path + "/ringwaked.toml"),
                .init(
                    id: "TEAM2", file: path + "/teams.d/TEAM2.toml", topics: ["a.voip"],
                    keys: [.init(id: "ABC123DEFG", file: path + "/teams.d/../certs/key.pem")]),
                .init(
                    id: "TEAM3", file: path + "/teams.d/TEAM3.toml",
                    keys: [.init(id: "ABC123DEFG", publicPEM: "PEM\n")]),
            ])
    }

    @Test("A team in two places is an error that names both")
    func twice() {
        let message = refusal(["TEAM1.toml": ""], configuration: "[[team]]\nid = \"TEAM1\"\n")
        #expect(message.contains("/ringwaked.toml and in ") && message.contains("/teams.d/TEAM1.toml"))
    }

    @Test("A key needs its file or itself, and not both; the id is the file's name")
    func wrong() {
        #expect(refusal(["T.toml": Self.key]).contains("teams.d/T.toml:1: 'key.file' is missing"))
        let both = refusal(["T.toml": Self.key + "file = \"a\"\npublic = \"b\"\n"])
        #expect(both.contains("teams.d/T.toml:4: 'key.public' cannot be combined with 'file'"))
        #expect(refusal(["T.toml": "id = \"T\"\n"]).contains("'id' is not a setting"))
        #expect(
            refusal(["T.toml": Self.key + "file = \"a\"\n" + Self.key + "file = \"b\"\n"]).contains("appears twice"))
    }
}
