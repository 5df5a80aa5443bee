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

    @Test("An app whose file was lost gets a new token, and senders to the old one are told so")
    func lostAppFile() throws {
        let old = try register()
        try FileSystem.remove(directory.path + "/" + Self.appFile)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.record(for: old)?.state == .registered)
        let new = try register(in: reopened, at: 42)
        #expect(new != old)
        #expect(reopened.record(for: old)?.state == .unregistered(at: 42))
    }

    @Test("An app whose file was lost can still be removed")
    func lostAppFileThenRemoved() throws {
        let old = try register()
        try FileSystem.remove(directory.path + "/" + Self.appFile)
        let reopened = try TokenStore(directory: directory.path)
        try reopened.unregister(app: app, at: 42)
        #expect(reopened.record(for: old)?.state == .unregistered(at: 42))
    }

    @Test(
        "A damaged tokens.json is an error that says what to do, and is left as it is",
        arguments: [
            "", "{", "[]", "{\"tokens\":[]}", "{\"schema\":1}", "{\"schema\":\"1\",\"tokens\":[]}",
            entry(sha256: "00"), entry(state: "gone"), entry(state: "unregistered"), entry(app: "../x"),
            entry(environment: "test"), "{\"schema\":1,\"tokens\":[{}]}",
        ])
    func damagedTokens(_ text: String) throws {
        _ = try register()
        try directory.write(text, to: "tokens.json")
        let error = try #require(openingError())
        #expect(error.code == .system)
        #expect(error.message.contains(directory.path + "/tokens.json"))
        #expect(error.message.contains("move it away"))
        #expect(try directory.text(of: "tokens.json") == text)
    }

    @Test(
        "A damaged app file is an error that says what to do, and is left as it is",
        arguments: [
            "", "{}", #"{"schema":1,"app":"com.example.other","topic":"x.voip","tokens":{}}"#,
            #"{"schema":1,"app":"com.example.phone","topic":"x.voip","tokens":{"production":"00"}}"#,
            #"{"schema":1,"app":"com.example.phone","topic":"x.voip","tokens":{"nowhere":"00"}}"#,
        ])
    func damagedAppFile(_ text: String) throws {
        _ = try register()
        try directory.write(text, to: Self.appFile)
        let error = try #require(openingError())
        #expect(error.code == .system)
        #expect(error.message.contains(Self.appFile))
        #expect(error.message.contains("the app gets new tokens"))
        #expect(try directory.text(of: Self.appFile) == text)
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

    private func register(in store: TokenStore? = nil, at time: Int64 = 1) throws -> DeviceToken {
        let store = try store ?? TokenStore(directory: directory.path)
        return try #require(
            try store.register(app: app, topic: topic, environments: [.production], at: time)[.production])
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
