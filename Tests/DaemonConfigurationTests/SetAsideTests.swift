import DeviceServices
import FoundationEssentials
import HTTPServer
import HandlerActivation
import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("A wrong file of one app or team does not stop the others")
@MainActor
struct SetAsideTests {
    private typealias Folder = ConfigurationTests.Folder
    private static let good = "[wake]\nexec = [\"/bin/true\"]\n"

    private static func id(_ name: String) throws -> AppID { try #require(AppID(name)) }

    @Test("At the start an app with a wrong file keeps its name only; the others are whole")
    func wrongApp() throws {
        let folder = try Folder(
            "",
            apps: [
                "com.example.bad.toml": "[wake]\nexe = []\n", "com.example.good.toml": Self.good,
                "no id.toml": Self.good,
            ])
        let configuration = try folder.loadInPart()
        let (bad, good) = (try Self.id("com.example.bad"), try Self.id("com.example.good"))
        #expect(configuration.apps[good]?.way == .exec(["/bin/true"]))
        let left = try #require(configuration.apps[bad])
        #expect(left.way == nil && left.isBare && !left.policy.isStarted)
        let wrong = try #require(configuration.setAside(of: bad))
        #expect(wrong.why.contains("/apps.d/com.example.bad.toml:2: 'wake.exe' is not a setting") && !wrong.usesFormer)
        #expect(configuration.setAside.map(\.owner) == [.app(bad), .nobody])
    }

    @Test("At a reload what the file said before stays, for as long as the file is wrong")
    func formerApp() throws {
        let folder = try Folder("", apps: ["com.example.phone.toml": Self.good])
        let id = try Self.id("com.example.phone")
        var former = try folder.loadInPart()
        try folder.write("[wake]\nexec = 7\n", to: "apps.d/com.example.phone.toml")
        for _ in 1...2 {
            former = try folder.loadInPart(former: former)
            #expect(former.apps[id]?.way == .exec(["/bin/true"]))
            #expect(former.setAside.map(\.usesFormer) == [true])
        }
        try folder.write("[wake]\nexec = [\"/bin/false\"]\n", to: "apps.d/com.example.phone.toml")
        let mended = try folder.loadInPart(former: former)
        #expect(mended.apps[id]?.way == .exec(["/bin/false"]) && mended.setAside.isEmpty)
    }

    @Test("What was bare before is no former version")
    func twiceWrong() throws {
        let folder = try Folder("", apps: ["com.example.phone.toml": "wrong"])
        let again = try folder.loadInPart(former: folder.loadInPart())
        #expect(again.setAside.map(\.usesFormer) == [false])
        #expect(again.apps[try Self.id("com.example.phone")]?.isBare == true)
    }

    @Test("A team with a wrong file may not send; at a reload it may send as before")
    func wrongTeam() throws {
        let folder = try Folder("")
        try folder.write("topics = [\"a.voip\"]", to: "teams.d/TEAM1.toml")
        let former = try folder.loadInPart()
        try folder.write("topics = [\"a.voip\"]", to: "teams.d/TEAM2.toml")
        try folder.write("topic = [\"a.voip\", \"b.voip\"]", to: "teams.d/TEAM1.toml")
        let first = try folder.loadInPart()
        #expect(first.teams.map(\.id) == ["TEAM2"] && first.setAside.map(\.owner) == [.team("TEAM1")])
        let reload = try folder.loadInPart(former: former)
        #expect(reload.teams.first { $0.id == "TEAM1" }?.topics == ["a.voip"])
        #expect(reload.teams.contains { $0.id == "TEAM2" } && reload.setAside.map(\.usesFormer) == [true])
    }

    @Test("An app whose unit name is invalid is set aside as well")
    func wrongName() throws {
        let folder = try Folder(
            "", apps: ["com.example.phone.toml": "[wake]\nunit = \"no unit\"", "com.example.good.toml": Self.good])
        var configuration = try folder.loadInPart()
        configuration.checkNames()
        let id = try Self.id("com.example.phone")
        #expect(configuration.setAside(of: id)?.why.contains("/apps.d/com.example.phone.toml: ") == true)
        #expect(configuration.apps[id]?.isBare == true && configuration.setAside.count == 1)
    }

    // MARK: - Drop-ins

    @Test("Drop-ins change settings in the order of their names; sections in double brackets are added")
    func dropIns() throws {
        let folder = try Folder(
            "[calls]\nring = \"30s\"\nreport = \"5s\"\n[server]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n"
                + "[[listener]]\naddress = \"127.0.0.1:1\"\n")
        try folder.write("[calls]\nring = \"50s\"\n[server]\nkey = \"b.key\"\n", to: "ringwaked.toml.d/20-b.toml")
        try folder.write(
            "[calls]\nring = \"40s\"\n\n[[listener]]\naddress = \"127.0.0.1:2\"\n", to: "ringwaked.toml.d/10-a.toml")
        try folder.write("nonsense", to: "ringwaked.toml.d/README")
        let configuration = try folder.load()
        #expect(configuration.policy.deadlines.ring == .seconds(50))
        #expect(configuration.policy.deadlines.report == .seconds(5))
        #expect(configuration.server?.certificateFile == folder.path + "/a.pem")
        #expect(configuration.server?.keyFile == folder.path + "/b.key")
        #expect(configuration.listeners.map(\.address.description) == ["127.0.0.1:1", "127.0.0.1:2"])

        let origins = Dictionary(configuration.origins.map { ($0.key, $0) }) { first, _ in first }
        #expect(origins.count == configuration.origins.count)
        let ring = try #require(origins["calls.ring"])
        #expect(ring.value == "50s" && ring.file == folder.file + ".d/20-b.toml" && ring.line == 2)
        let listener = try #require(origins["listener[2].address"])
        #expect(listener.value == "127.0.0.1:2" && listener.file == folder.file + ".d/10-a.toml" && listener.line == 5)
        #expect(origins["calls.report"]?.file == folder.file && origins["calls.report"]?.line == 3)
        let standard = try #require(origins["calls.claim"])
        #expect(standard.file == nil && !standard.value.isEmpty)
        #expect(origins["state_directory"]?.value == configuration.stateDirectory)
        #expect(origins["listener.address"] == nil)
    }

    @Test("A wrong drop-in is named with its line")
    func wrongDropIn() throws {
        let folder = try Folder("[log]\nlevel = \"info\"\n")
        try folder.write("\n[log]\nlevel = \"loud\"\n", to: "ringwaked.toml.d/a.toml")
        let level = #expect(throws: RingwakeError.self) { try folder.loadInPart() }
        #expect(level?.message.hasPrefix(folder.file + ".d/a.toml:3: 'log.level'") == true, "\(level?.message ?? "")")
        try folder.write("\nlog = 3\n", to: "ringwaked.toml.d/a.toml")
        let table = #expect(throws: RingwakeError.self) { try folder.loadInPart() }
        #expect(table?.message.hasPrefix(folder.file + ".d/a.toml:2: ") == true, "\(table?.message ?? "")")
        try folder.write("[logs]\n", to: "ringwaked.toml.d/a.toml")
        let unknown = #expect(throws: RingwakeError.self) { try folder.loadInPart() }
        #expect(unknown?.message.contains(".d/a.toml:1: 'logs' is not a setting") == true, "\(unknown?.message ?? "")")
    }
}
