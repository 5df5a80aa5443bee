import Cryptography
import DeviceLink
import FileSystem
import PushGateway
import RingwakeCore
import Testing

@MainActor @Suite("The tokens of a linked device") struct LinkedTokenTests {
    let directory: TemporaryDirectory
    let app: AppID
    let device: DeviceID

    init() throws {
        directory = try TemporaryDirectory()
        app = try #require(AppID("com.example.phone"))
        device = try #require(DeviceID(Base32.encode(SHA256.digest([1]))))
    }

    private func store() throws -> TokenStore { try TokenStore(directory: directory.path) }

    private func token(_ store: TokenStore) throws -> DeviceToken {
        try #require(
            try store.register(app: app, topic: .voip(of: app), environments: [.production])[.production])
    }

    @Test("Linking gives all apps new tokens, which are bound to the device, and the former ones expire")
    func bind() throws {
        let store = try store()
        let former = try token(store)
        try store.bind(to: device, at: 7)
        let bound = try token(store)
        #expect(bound != former)
        #expect(store.record(for: former)?.state == .expired(at: 7))
        #expect(LinkedToken.isBound(bound, to: device, environment: .production) { SHA256.digest($0) })
        #expect(!LinkedToken.isBound(bound, to: device, environment: .development) { SHA256.digest($0) })
        let registration = try #require(store.registrations.registrations.first)
        #expect(registration.token == TokenHash(bound).hex && registration.app == app)
        #expect(store.record(for: registration.slot)?.app == app)
    }

    @Test("The tokens of an app whose own file was lost expire too")
    func bindWithoutFile() throws {
        let former = try token(store())
        for folder in ["apps", "copies/apps"] {
            for name in try FileSystem.entries(of: directory.path + "/" + folder) {
                try FileSystem.remove("\(directory.path)/\(folder)/\(name)")
            }
        }
        let store = try store()
        #expect(store.record(for: former)?.state == .registered)
        try store.bind(to: nil, at: 7)
        #expect(store.record(for: former)?.state == .expired(at: 7))
    }

    @Test("Device, revision and slots survive a restart, and every change raises the revision")
    func persistence() throws {
        let store = try store()
        _ = try token(store)
        try store.bind(to: device, at: 7)
        let before = store.registrations
        let again = try self.store()
        #expect(again.device == device && again.registrations == before)
        try again.renew(app: app, at: 8)
        #expect(again.registrations.revision > before.revision)
        #expect(again.registrations.registrations.first?.slot != before.registrations.first?.slot)
        try again.unregister(app: app, at: 9)
        #expect(again.registrations.registrations.isEmpty)
    }

    @Test("Tokens that nobody links have no slots")
    func unlinked() throws {
        let store = try store()
        _ = try token(store)
        #expect(store.registrations.registrations.isEmpty)
    }

    @Test("A reset takes registrations by their hashes, expires tokens, and gives their apps others")
    func reset() throws {
        let store = try store()
        try store.bind(to: device, at: 1)
        let former = try token(store)
        let taken = LinkRegistration(
            slot: LinkSlot(rawValue: 0xABCD), app: app, topics: [.voip(of: app)], environment: .production,
            token: encodeHex(SHA256.digest([9])))
        let plan = LinkResetPlan(
            local: store.registrations,
            gateway: GatewayRegistrations(
                revision: 50, registrations: [taken], ended: [TokenHash(former).hex]),
            apps: [app], mode: .recover)
        try store.apply(plan, at: 5)
        #expect(store.revision > 50)
        #expect(store.record(for: former)?.state == .expired(at: 5))
        #expect(store.record(for: taken.slot)?.app == app)
        let shown = try token(store)
        #expect(shown != former && store.record(for: shown)?.state == .registered)
        #expect(Set(store.registrations.registrations.map(\.token)) == [taken.token, TokenHash(shown).hex])
        #expect(try self.store().registrations == store.registrations)
    }

    @Test(
        "A revision that no gateway can have changes nothing; one far ahead is followed",
        arguments: [(UInt64.max, false), (UInt64(Int64.max), false), (1 << 32, true)])
    func absurdRevision(_ revision: UInt64, _ isTaken: Bool) throws {
        let store = try store()
        try store.bind(to: device, at: 1)
        let former = try token(store)
        let before = store.registrations
        let plan = LinkResetPlan(
            local: before,
            gateway: GatewayRegistrations(
                revision: revision, registrations: [], ended: [TokenHash(former).hex]),
            apps: [app], mode: .recover)
        guard !isTaken else {
            try store.apply(plan, at: 5)
            return #expect(store.revision > revision)
        }
        #expect(throws: RingwakeError.self) { try store.apply(plan, at: 5) }
        #expect(store.registrations == before && store.record(for: former)?.state == .registered)
    }
}
