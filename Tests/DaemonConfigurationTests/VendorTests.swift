import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("Who makes an app: its team, or the beginning of its bundle id")
struct VendorTests {
    private let id = AppID("com.example.phone")

    private func load(_ configuration: String, app: String = "") throws -> Configuration {
        let folder = try ConfigurationTests.Folder(
            configuration, apps: ["com.example.phone.toml": app + "[wake]\nconnected = true\n"])
        return try folder.load()
    }

    private func vendor(_ configuration: Configuration) throws -> Vendor? {
        configuration.vendor(of: try #require(id.flatMap { configuration.apps[$0] }))
    }

    private func vendor(_ configuration: String, app: String = "") throws -> Vendor? {
        try vendor(try load(configuration, app: app))
    }

    private static func team(_ id: String, _ topics: String? = nil) -> String {
        "[[team]]\nid = \"\(id)\"\n" + (topics.map { "topics = [\"\($0)\"]\n" } ?? "")
    }

    private static let own = "com.example.phone.voip"

    @Test("The team is the one that may push to it; one that names it comes before one that may send to all")
    func teams() throws {
        #expect(try vendor("") == .prefix("com.example"))
        #expect(try vendor(Self.team("T1")) == .team("T1"))
        #expect(try vendor(Self.team("T1", "other.voip")) == .prefix("com.example"))
        #expect(try vendor(Self.team("T1") + Self.team("T2", Self.own)) == .team("T2"))
        #expect(try vendor(Self.team("T1") + Self.team("T2")) == .prefix("com.example"))
        #expect(try vendor(Self.team("T1", Self.own) + Self.team("T2", Self.own)) == .prefix("com.example"))
    }

    @Test("The app's own file decides, whoever may push")
    func ownFile() throws {
        #expect(try vendor(Self.team("T1", Self.own), app: "team = \"T5\"\n") == .team("T5"))
    }

    private static let wrong = RingwakeError(.badConfiguration, "it is wrong")

    @Test("It is unknown while a team's file is wrong, unless the app's says it, and while the app's is")
    func unknown() throws {
        let text = Self.team("T1", Self.own)
        var configuration = try load(text)
        configuration.setAside(team: "T9", file: "/t", Self.wrong, former: nil)
        #expect(try vendor(configuration) == nil)
        var named = try load(text, app: "team = \"T5\"\n")
        named.setAside(team: "T9", file: "/t", Self.wrong, former: nil)
        #expect(try vendor(named) == .team("T5"))
        var broken = try load(text)
        broken.setAside(app: try #require(id), file: "/a", Self.wrong, former: nil)
        #expect(try vendor(broken) == nil)
    }

    @Test("A wrong file whose former contents are in force changes nothing")
    func former() throws {
        let former = try load(Self.team("T1", Self.own))
        var configuration = former
        configuration.setAside(team: "T1", file: "/t", Self.wrong, former: former)
        #expect(try vendor(configuration) == .team("T1"))
    }

    @Test("A device has no teams: its gateway knows them")
    func device() throws {
        var configuration = try load(Self.team("T1", Self.own))
        configuration.role = .device
        #expect(try vendor(configuration) == .prefix("com.example"))
    }
}
