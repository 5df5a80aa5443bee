import FileSystem
import Glibc
import PushGateway
import RingwakeCore
import Testing

@MainActor @Suite struct TokenStoreTests {
    let directory: TemporaryDirectory
    let app: AppID
    let topic: Topic

    init() throws {
        directory = try TemporaryDirectory()
        app = try #require(AppID("com.example.phone"))
        topic = .voip(of: app)
    }

    @Test("Registering gives each environment its own token, and the same ones again, also after opening anew")
    func registerIsIdempotent() throws {
        let store = try TokenStore(directory: directory.path)
        let tokens = try store.register(app: app, topic: topic, environments: [.development, .production])
        #expect(tokens.count == 2)
        #expect(tokens[.development] != tokens[.production])
        let again = try store.register(app: app, topic: topic, environments: [.production])
        #expect(again == tokens.filter { $0.key == .production })
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.tokens(of: app) == tokens)
        let anew = try reopened.register(app: app, topic: topic, environments: [.development, .production])
        #expect(anew == tokens)
        for (environment, token) in tokens {
            #expect(
                reopened.record(for: token)
                    == TokenRecord(app: app, topic: topic, environment: environment, state: .registered))
        }
    }

    @Test("Registering what is registered writes nothing")
    func idempotentRegisterDoesNotWrite() throws {
        let store = try TokenStore(directory: directory.path)
        _ = try store.register(app: app, topic: topic, environments: [.production])
        try FileSystem.remove(directory.path + "/tokens.json")
        _ = try store.register(app: app, topic: topic, environments: [.production])
        #expect(!directory.has("tokens.json"))
    }

    @Test("An environment that is added gets a token, the others keep theirs")
    func addedEnvironment() throws {
        let store = try TokenStore(directory: directory.path)
        let first = try store.register(app: app, topic: topic, environments: [.production])
        let both = try store.register(app: app, topic: topic, environments: [.development, .production])
        #expect(both[.production] == first[.production])
        #expect(both.count == 2)
    }

    @Test("tokens.json holds no token, and the app's file can be read by its owner alone")
    func plainTokensStayInTheAppFile() throws {
        let store = try TokenStore(directory: directory.path)
        let token = try #require(
            try store.register(app: app, topic: topic, environments: [.production])[.production])
        #expect(try !directory.text(of: "tokens.json").contains(token.hex))
        #expect(try directory.text(of: "apps/com.example.phone.json").contains(token.hex))
        var status = stat()
        #expect(stat(directory.path + "/apps/com.example.phone.json", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("A removed app's tokens are remembered with the time, and it gets new ones when it comes back")
    func unregister() throws {
        let store = try TokenStore(directory: directory.path)
        let old = try #require(
            try store.register(app: app, topic: topic, environments: [.production])[.production])
        try store.unregister(app: app, at: 777)
        #expect(store.tokens(of: app).isEmpty)
        #expect(!directory.has("apps/com.example.phone.json"))
        #expect(store.record(for: old)?.state == .unregistered(at: 777))

        let new = try #require(
            try store.register(app: app, topic: topic, environments: [.production])[.production])
        #expect(new != old)
        let reopened = try TokenStore(directory: directory.path)
        #expect(reopened.record(for: old)?.state == .unregistered(at: 777))
        #expect(reopened.record(for: new)?.state == .registered)
    }

    @Test("An app's tokens are renewed in each of its environments, and the former ones have expired at that time")
    func renew() throws {
        let store = try TokenStore(directory: directory.path)
        let old = try store.register(app: app, topic: topic, environments: [.development, .production])
        try store.renew(app: app, at: 777)
        let new = store.tokens(of: app)
        #expect(Set(new.keys) == Set(old.keys) && Set(new.values).isDisjoint(with: old.values))
        for reopened in [store, try TokenStore(directory: directory.path)] {
            #expect(reopened.tokens(of: app) == new)
            #expect(old.values.allSatisfy { reopened.record(for: $0)?.state == .expired(at: 777) })
            #expect(new.values.allSatisfy { reopened.record(for: $0)?.state == .registered })
        }
        try store.unregister(app: app, at: 888)
        #expect(new.values.allSatisfy { store.record(for: $0)?.state == .unregistered(at: 888) })
        #expect(old.values.allSatisfy { store.record(for: $0)?.state == .expired(at: 777) })
        #expect(code { try store.renew(app: app, at: 999) } == .notFound)
    }

    @Test("Former versions read an expired token as an unregistered one")
    func expiredInTheFile() throws {
        let store = try TokenStore(directory: directory.path)
        _ = try store.register(app: app, topic: topic, environments: [.production])
        try store.renew(app: app, at: 777)
        let text = try directory.text(of: "tokens.json")
        #expect(text.contains(#""state":"unregistered""#) && text.contains(#""unregisteredAtMs":777"#))
    }

    @Test("Removing an app that has no token is notFound")
    func unregisterUnknown() throws {
        let store = try TokenStore(directory: directory.path)
        #expect(code { try store.unregister(app: app, at: 1) } == .notFound)
        _ = try store.register(app: app, topic: topic, environments: [.production])
        try store.unregister(app: app, at: 2)
        #expect(code { try store.unregister(app: app, at: 3) } == .notFound)
    }

    @Test("An app that was registered for no environment can be removed, and its file goes")
    func unregisterWithoutTokens() throws {
        let store = try TokenStore(directory: directory.path)
        _ = try store.register(app: app, topic: topic, environments: [])
        #expect(directory.has("apps/com.example.phone.json"))
        try store.unregister(app: app, at: 2)
        #expect(!directory.has("apps/com.example.phone.json"))
        #expect(code { try store.unregister(app: app, at: 3) } == .notFound)
    }

    @Test("Of unregistered tokens the newest ten thousand are remembered")
    func oldestAreForgotten() throws {
        var entries: [String] = []
        for index in 0..<TokenStore.maximumUnregistered {
            let hex = String(index, radix: 16)
            let hash = String(repeating: "0", count: 64 - hex.count) + hex
            entries.append(
                #"{"sha256":"\#(hash)","app":"old.app","topic":"old.app.voip","environment":"production","#
                    + #""state":"unregistered","unregisteredAtMs":\#(1000 + index)}"#)
        }
        try directory.write(#"{"schema":1,"tokens":[\#(entries.joined(separator: ","))]}"#, to: "tokens.json")
        let store = try TokenStore(directory: directory.path)
        let token = try #require(
            try store.register(app: app, topic: topic, environments: [.production])[.production])
        try store.unregister(app: app, at: 900_000)
        #expect(store.record(for: token)?.state == .unregistered(at: 900_000))
        let text = try directory.text(of: "tokens.json")
        #expect(!text.contains(#""unregisteredAtMs":1000}"#))
        #expect(text.contains(#""unregisteredAtMs":1001}"#))
    }

    @Test("A topic that is too long is refused and changes nothing")
    func longTopic() throws {
        let store = try TokenStore(directory: directory.path)
        let long = Topic(String(repeating: "t", count: 256))
        let refusal = code { _ = try store.register(app: app, topic: long, environments: [.production]) }
        #expect(refusal == .invalidRequest)
        #expect(store.tokens(of: app).isEmpty)
    }

    private func code(_ body: () throws -> Void) -> RingwakeError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? RingwakeError)?.code
        }
    }
}
