import FileSystem
import Glibc
import PushGateway
import RingwakeCore
import Testing

/// What is wrong is the disk or the owner, and not what is in the files.
@MainActor @Suite struct TokenFileFaultTests {
    nonisolated static let appFile = "apps/com.example.phone.json"

    nonisolated static let folders = ["", "/apps", "/copies", "/copies/apps"]

    let directory: TemporaryDirectory
    let app: AppID

    init() throws {
        directory = try TemporaryDirectory()
        app = try #require(AppID("com.example.phone"))
    }

    @Test("Files that may not be read refuse the start, and stay where they are", arguments: ["tokens.json", appFile])
    func unreadable(_ name: String) throws {
        let token = try register()
        forbid(name, "copies/" + name)
        let error = #expect(throws: RingwakeError.self) { try open() }
        #expect(error?.code == .system && error?.message.contains(name) == true)
        #expect(!directory.has(DamageFolder.name))
        allow(name, "copies/" + name)
        #expect(try open().tokens(of: app) == [.production: token])
    }

    @Test("One that may not be read costs nothing if the other one can", arguments: ["tokens.json", appFile])
    func oneIsUnreadable(_ name: String) throws {
        let token = try register()
        for forbidden in [name, "copies/" + name] {
            forbid(forbidden)
            let store = try open()
            #expect(store.tokens(of: app) == [.production: token])
            #expect(store.record(for: token)?.state == .registered)
            #expect(store.damage.map { $0.contains("cannot be read") } == [true])
            #expect(directory.has(forbidden) && !directory.has(DamageFolder.name))
            allow(forbidden)
        }
        #expect(try open().damage.isEmpty)
    }

    @Test("A damaged file whose copy may not be read refuses the start: the copy may be good")
    func damagedAndUnreadable() throws {
        let token = try register()
        try directory.write("{", to: "tokens.json")
        allow("tokens.json")
        forbid("copies/tokens.json")
        #expect(throws: RingwakeError.self) { try open() }
        #expect(try directory.text(of: "tokens.json") == "{")
        allow("copies/tokens.json")
        #expect(try open().record(for: token)?.state == .registered)
    }

    @Test("A damaged file that cannot be set aside costs nothing if the other one is good")
    func cannotBeSetAside() throws {
        let token = try register()
        // In the place of the folder.
        try directory.write("", to: DamageFolder.name)
        for name in ["tokens.json", "copies/tokens.json", Self.appFile, "copies/" + Self.appFile] {
            let good = try directory.text(of: name)
            try directory.write("{", to: name)
            let store = try TokenStore(directory: directory.path)
            #expect(store.tokens(of: app) == [.production: token])
            #expect(store.damage.map { $0.contains("cannot be set aside") } == [true])
            #expect(try directory.text(of: name) == "{")
            try directory.write(good, to: name)
        }
        for name in ["tokens.json", "copies/tokens.json"] { try directory.write("{", to: name) }
        #expect(throws: RingwakeError.self) { try TokenStore(directory: directory.path) }
    }

    @Test("An app that was registered by half starts on a disk that takes nothing, and is registered whole later")
    func halfRegistered() throws {
        let token = try register()
        for name in ["tokens.json", "copies/tokens.json"] { try FileSystem.remove(directory.path + "/" + name) }
        let store = try openForReading()
        #expect(store.record(for: token)?.state == .registered)
        #expect(store.tokens(of: app) == [.production: token])
        #expect(store.damage.map { $0.contains("tokens.json' cannot be written") } == [true])
        #expect(try TokenStore(directory: directory.path).damage.isEmpty)
        #expect(directory.has("tokens.json"))
    }

    @Test("An app that was removed by half starts on a disk that takes nothing, and is removed whole later")
    func halfRemoved() throws {
        let token = try register()
        let file = try directory.text(of: Self.appFile)
        try TokenStore(directory: directory.path).unregister(app: app, at: 777)
        for name in [Self.appFile, "copies/" + Self.appFile] { try directory.write(file, to: name) }
        allow(Self.appFile, "copies/" + Self.appFile, "tokens.json", "copies/tokens.json")
        let store = try openForReading()
        #expect(store.record(for: token)?.state == .unregistered(at: 777) && store.tokens(of: app).isEmpty)
        #expect(store.damage.map { $0.contains("cannot be removed") } == [true])
        #expect(try TokenStore(directory: directory.path).damage.isEmpty)
        #expect(!directory.has(Self.appFile))
    }

    /// Registers the app, and lets everybody read its files.
    private func register() throws -> DeviceToken {
        let tokens = try TokenStore(directory: directory.path)
            .register(app: app, topic: .voip(of: app), environments: [.production])
        allow("tokens.json", "copies/tokens.json", Self.appFile, "copies/" + Self.appFile)
        for folder in Self.folders { chmod(directory.path + folder, 0o755) }
        return try #require(tokens[.production])
    }

    /// Opens the store as the owner of the folders, but not of each file.
    private func open() throws -> TokenStore {
        for folder in Self.folders { OrdinaryUser.own(directory.path + folder) }
        return try OrdinaryUser.run { try TokenStore(directory: directory.path) }
    }

    /// Opens the store where nothing can be written.
    private func openForReading() throws -> TokenStore {
        for folder in Self.folders { chmod(directory.path + folder, 0o555) }
        defer { for folder in Self.folders { chmod(directory.path + folder, 0o755) } }
        return try OrdinaryUser.run { try TokenStore(directory: directory.path) }
    }

    private func forbid(_ names: String...) {
        for name in names { chmod(directory.path + "/" + name, 0) }
    }

    private func allow(_ names: String...) {
        for name in names { chmod(directory.path + "/" + name, 0o644) }
    }
}
