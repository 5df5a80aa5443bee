import FileSystem
import Glibc
import PushGateway
import RingwakeCore
import Testing

@MainActor @Suite struct TokenStoreRecoveryTests {
    nonisolated static let appFile = "apps/com.example.phone.json"

    let directory: TemporaryDirectory
    let app: AppID
    let topic: Topic

    init() throws {
        directory = try TemporaryDirectory()
        app = try #require(AppID("com.example.phone"))
        topic = .voip(of: app)
    }

    @Test("A crash while registering, before tokens.json was written, leaves a token that works after the restart")
    func crashWhileRegistering() throws {
        let token = try register()
        try FileSystem.remove(directory.path + "/tokens.json")
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.record(for: token)?.state == .registered)
        #expect(try register(in: reopened) == token)
        #expect(directory.has("tokens.json"))
    }

    @Test("Registering writes the app's file first, so that failing at tokens.json is like that crash")
    func registeringFailsHalfWay() throws {
        let store = try TokenStore(directory: directory.path)
        try FileSystem.createDirectory(directory.path + "/tokens.json", mode: 0o700)
        #expect(throws: RingwakeError.self) { try register(in: store) }
        #expect(store.tokens(of: app).isEmpty)
        #expect(directory.has(Self.appFile))
        rmdir(directory.path + "/tokens.json")

        let reopened = try TokenStore(directory: directory.path)
        let token = try #require(reopened.tokens(of: app)[.production])
        #expect(reopened.record(for: token)?.state == .registered)
    }

    @Test("Renewing that fails half-way leaves the former token valid, and a further renewal ends it")
    func renewingFailsHalfWay() throws {
        let old = try register()
        let text = try directory.text(of: "tokens.json")
        let store = try TokenStore(directory: directory.path)
        try FileSystem.remove(directory.path + "/tokens.json")
        try FileSystem.createDirectory(directory.path + "/tokens.json", mode: 0o700)
        #expect(throws: RingwakeError.self) { try store.renew(app: app, at: 777) }
        #expect(store.record(for: old)?.state == .registered && store.tokens(of: app)[.production] == old)
        rmdir(directory.path + "/tokens.json")
        try directory.write(text, to: "tokens.json")

        let after = try TokenStore(directory: directory.path)
        let shown = try #require(after.tokens(of: app)[.production])
        #expect(shown != old && after.record(for: old)?.state == .registered)
        try after.renew(app: app, at: 888)
        #expect(after.record(for: old)?.state == .expired(at: 888))
        #expect(after.record(for: shown)?.state == .expired(at: 888))
    }

    @Test("A crash while removing, before the app's file was removed, leaves the app removed")
    func crashWhileRemoving() throws {
        let token = try register()
        let file = try directory.text(of: Self.appFile)
        try TokenStore(directory: directory.path).unregister(app: app, at: 777)
        try directory.write(file, to: Self.appFile)

        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.record(for: token)?.state == .unregistered(at: 777))
        #expect(reopened.tokens(of: app).isEmpty)
        #expect(!directory.has(Self.appFile))
        #expect(try register(in: reopened) != token)
    }

    @Test("An app whose file was lost with its copy shows a new token, and the old one is good until it is removed")
    func lostAppFile() throws {
        let old = try register()
        for name in [Self.appFile, "copies/" + Self.appFile] {
            try FileSystem.remove(directory.path + "/" + name)
        }
        let reopened = try TokenStore(directory: directory.path)
        let new = try register(in: reopened)
        #expect(new != old)
        #expect(reopened.record(for: old)?.state == .registered)
        try reopened.unregister(app: app, at: 42)
        #expect(reopened.record(for: old)?.state == .unregistered(at: 42))
        #expect(reopened.record(for: new)?.state == .unregistered(at: 42))
    }

    @Test("A file that is gone comes back from its second copy", arguments: ["tokens.json", appFile])
    func removedFile(_ name: String) throws {
        let token = try register()
        let text = try directory.text(of: name)
        try FileSystem.remove(directory.path + "/" + name)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.damage.map { $0.contains("was gone") } == [true])
        #expect(try directory.text(of: name) == text)
        #expect(try register(in: reopened) == token)
    }

    @Test("A state of a former version has no copies, and gets them", arguments: ["tokens.json", appFile])
    func noCopies(_ name: String) throws {
        let token = try register()
        try FileSystem.remove(directory.path + "/copies/" + name)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.damage.isEmpty)
        #expect(try directory.text(of: "copies/" + name) == directory.text(of: name))
        #expect(reopened.tokens(of: app) == [.production: token])
    }

    @Test("When a file and its copy differ, the file is right: the copy is written first")
    func differingCopies() throws {
        let token = try register()
        let (file, records) = (try directory.text(of: Self.appFile), try directory.text(of: "tokens.json"))
        try TokenStore(directory: directory.path).unregister(app: app, at: 777)
        // As a crash after the copy was written leaves it.
        try directory.write(records, to: "tokens.json")
        try directory.write(file, to: Self.appFile)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.record(for: token)?.state == .registered)
        #expect(reopened.tokens(of: app) == [.production: token])
        #expect(try directory.text(of: "copies/tokens.json") == records)
        #expect(reopened.damage.isEmpty)
    }

    @Test("An app whose file was lost can still be removed")
    func lostAppFileThenRemoved() throws {
        let old = try register()
        for name in [Self.appFile, "copies/" + Self.appFile] {
            try FileSystem.remove(directory.path + "/" + name)
        }
        let reopened = try TokenStore(directory: directory.path)
        try reopened.unregister(app: app, at: 42)
        #expect(reopened.record(for: old)?.state == .unregistered(at: 42))
    }

    nonisolated static let damagedRecords = [
        "", "{", "[]", "{\"tokens\":[]}", "{\"schema\":1}", "{\"schema\":\"1\",\"tokens\":[]}",
        entry(sha256: "00"), entry(state: "gone"), entry(state: "unregistered"), entry(app: "../x"),
        entry(environment: "test"), "{\"schema\":1,\"tokens\":[{}]}",
    ]

    nonisolated static let damagedTokens = [
        "", "{}", #"{"schema":1,"app":"com.example.other","topic":"x.voip","tokens":{}}"#,
        #"{"schema":1,"app":"com.example.phone","topic":"x.voip","tokens":{"production":"00"}}"#,
        #"{"schema":1,"app":"com.example.phone","topic":"x.voip","tokens":{"nowhere":"00"}}"#,
    ]

    nonisolated static let damages =
        damagedRecords.map { ("tokens.json", $0) } + damagedTokens.map { (appFile, $0) }

    @Test("A damaged file is set aside as it is, named, and its second copy takes its place", arguments: damages)
    func damagedFile(_ name: String, _ text: String) throws {
        let token = try register()
        let good = try directory.text(of: name)
        try directory.write(text, to: name)
        let reopened = try TokenStore(directory: directory.path)
        #expect(try register(in: reopened) == token)
        #expect(try directory.text(of: name) == good)
        let damage = try #require(reopened.damage.first)
        #expect(damage.contains("\(directory.path)/\(name) was damaged"))
        let found = try #require(try DamageFolder(stateDirectory: directory.path).cases().first)
        #expect(found.why == damage)
        let aside = try #require(found.files.first { $0.hasSuffix(".json") })
        #expect(try FileSystem.read(aside, maximumSize: 1 << 16) == Array(text.utf8))
        #expect(try TokenStore(directory: directory.path).damage.isEmpty)
    }

    @Test("A file that is damaged with its second copy costs no token that a sender has", arguments: damages)
    func damagedWithItsCopy(_ name: String, _ text: String) throws {
        let token = try register()
        for name in [name, "copies/" + name] { try directory.write(text, to: name) }
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.damage.map { $0.contains("is lost") } == [true])
        #expect(reopened.record(for: token)?.state == .registered)
        _ = try register(in: reopened)
        #expect(reopened.record(for: token)?.state == .registered)
        #expect(try TokenStore(directory: directory.path).damage.isEmpty)
    }

    @Test("A token that became another one by damage is noticed")
    func changedDigit() throws {
        let token = try register()
        let good = try directory.text(of: Self.appFile)
        let digit = try #require(token.hex.first)
        try directory.write(
            good.replacing(token.hex, with: (digit == "0" ? "1" : "0") + token.hex.dropFirst()), to: Self.appFile)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.tokens(of: app) == [.production: token])
        #expect(reopened.damage.map { $0.contains("checksum") } == [true])
    }

    @Test("Only so many damaged files are kept")
    func manyDamages() throws {
        _ = try register()
        for _ in 0..<20 {
            try directory.write("?", to: Self.appFile)
            _ = try TokenStore(directory: directory.path)
        }
        let cases = try DamageFolder(stateDirectory: directory.path).cases()
        #expect(cases.map(\.number) == Array(13...20))
    }

    @Test("A file of a newer version is refused as such", arguments: ["tokens.json", appFile])
    func newerSchema(_ name: String) throws {
        _ = try register()
        try directory.write(#"{"schema":2,"somethingNew":true}"#, to: name)
        let error = try #require(openingError())
        #expect(error.code == .conflict)
        #expect(error.message.contains("newer version"))
    }

    @Test("Files in the apps folder that are not an app's are passed over")
    func strangeFiles() throws {
        let token = try register()
        for name in ["apps/notes.txt", "apps/.com.example.phone.json.1.tmp", "apps/a b.json", "apps/..json"] {
            try directory.write("?", to: name)
        }
        #expect(try TokenStore(directory: directory.path).record(for: token) != nil)
    }

    @Test("A state directory that cannot be made is an error that names it")
    func unusableDirectory() throws {
        try directory.write("", to: "file")
        do {
            _ = try TokenStore(directory: directory.path + "/file")
            Issue.record("a file was taken for a directory")
        } catch {
            #expect(error.code == .system)
            #expect(error.message.contains(directory.path + "/file"))
        }
    }

    @Test("When the disk refuses a change, it is not in force either")
    func failedWrite() throws {
        let store = try TokenStore(directory: directory.path)
        let token = try register(in: store)
        try FileSystem.remove(directory.path + "/tokens.json")
        try FileSystem.createDirectory(directory.path + "/tokens.json", mode: 0o700)
        do {
            try store.unregister(app: app, at: 5)
            Issue.record("a directory was replaced by a file")
        } catch {
            #expect(error.code == .system)
        }
        #expect(store.record(for: token)?.state == .registered)
        #expect(store.tokens(of: app) == [.production: token])
    }

    private func register(in store: TokenStore? = nil) throws -> DeviceToken {
        let store = try store ?? TokenStore(directory: directory.path)
        return try #require(
            try store.register(app: app, topic: topic, environments: [.production])[.production])
    }

    private func openingError() -> RingwakeError? {
        do {
            _ = try TokenStore(directory: directory.path)
            return nil
        } catch {
            return error
        }
    }

    private nonisolated static func entry(
        sha256: String = String(repeating: "0", count: 64), app: String = "com.example.phone",
        environment: String = "production", state: String = "registered"
    ) -> String {
        #"{"schema":1,"tokens":[{"sha256":"\#(sha256)","app":"\#(app)","topic":"x.voip","#
            + #""environment":"\#(environment)","state":"\#(state)"}]}"#
    }
}
