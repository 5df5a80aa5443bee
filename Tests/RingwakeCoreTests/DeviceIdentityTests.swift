import Testing

@testable import RingwakeCore

@Suite("The device's identity, and what it is called towards vendors")
struct DeviceIdentityTests {
    /// Bytes that nobody gave before.
    private final class Source {
        private var next: UInt8 = 0

        func bytes(_ count: Int) throws(RingwakeError) -> [UInt8] {
            next += 1
            return [UInt8](repeating: next, count: count)
        }
    }

    private let source = Source()
    private let team = Vendor.team("TEAM123456")

    private func app(_ text: String) throws -> AppID { try #require(AppID(text)) }

    private func make(_ apps: [(String, Vendor)], machine: String? = "m1") throws -> DeviceIdentity {
        var identity = try DeviceIdentity(machine: machine, random: source.bytes)
        for (name, vendor) in apps { try identity.register(try app(name), of: vendor, random: source.bytes) }
        return identity
    }

    @Test("Apps of one vendor share an identifier, and no two vendors do")
    func vendors() throws {
        let other = Vendor.prefix("com.example")
        let identity = try make([("a.b.c", team), ("a.b.d", team), ("com.example.x", other)])
        let ids = try [("a.b.c", team), ("a.b.d", team), ("com.example.x", other)].map {
            identity.id(of: try app($0), by: $1)
        }
        #expect(ids[0] != nil && ids[0] == ids[1] && ids[2] != nil && ids[2] != ids[0])
        #expect(Set(ids + [identity.device]).count == 3)
        #expect(identity.id(of: try app("a.b.c"), by: other) == nil)
    }

    @Test("It stays while one of the vendor's apps is there, and is another after the last one was removed")
    func removal() throws {
        var identity = try make([("a.b.c", team), ("a.b.d", team)])
        let first = identity.id(of: try app("a.b.c"), by: team)
        identity.remove(try app("a.b.c"))
        try identity.register(try app("a.b.e"), of: team, random: source.bytes)
        #expect(identity.id(of: try app("a.b.e"), by: team) == first)
        identity.remove(try app("a.b.d"))
        identity.remove(try app("a.b.e"))
        #expect(identity.vendors.isEmpty)
        try identity.register(try app("a.b.c"), of: team, random: source.bytes)
        #expect(identity.id(of: try app("a.b.c"), by: team) != first)
    }

    @Test("An app that changes its vendor and comes back has the identifier that it had")
    func changedVendor() throws {
        var identity = try make([("a.b.c", team)])
        let (first, next) = (identity.id(of: try app("a.b.c"), by: team), Vendor.team("OTHERTEAM0"))
        #expect(identity.onlyVendor(of: try app("a.b.c")) == team)
        try identity.register(try app("a.b.c"), of: next, random: source.bytes)
        #expect(identity.id(of: try app("a.b.c"), by: next) != first)
        #expect(identity.id(of: try app("a.b.c"), by: team) == first)
        #expect(identity.onlyVendor(of: try app("a.b.c")) == nil)
        identity.remove(try app("a.b.c"))
        #expect(identity.vendors.isEmpty)
    }

    @Test("A renewed identity has the same apps, none of the identifiers, and the new machine")
    func renewed() throws {
        let former = try make([("a.b.c", team), ("a.b.d", .prefix("a.b"))])
        let new = try former.renewed(machine: "m2", random: source.bytes)
        #expect(new.vendors.mapValues(\.apps) == former.vendors.mapValues(\.apps))
        let ids = [former, new].flatMap { [$0.device] + $0.vendors.values.map(\.id) }
        #expect(Set(ids).count == 6 && new.machine == "m2")
    }

    @Test("A copy is known by its machine, if both machines are known")
    func copied() throws {
        var identity = try make([])
        #expect(!identity.isCopied(to: "m1") && identity.isCopied(to: "m2") && !identity.isCopied(to: nil))
        identity.belong(to: "m2")
        #expect(!identity.isCopied(to: "m2") && identity.isCopied(to: "m1"))
        #expect(try !make([], machine: nil).isCopied(to: "m1"))
    }

    @Test("The pairs of apps and vendors are limited, and a refused app changes nothing")
    func limited() throws {
        let apps = try Set((0..<DeviceIdentity.maximumPairs).map { try app("a.b.c\($0)") })
        let id = try #require(RandomID(bytes: [UInt8](repeating: 7, count: 16)))
        let full = DeviceIdentity(device: id, machine: nil, vendors: [team: .init(id: id, apps: apps)])
        var identity = full
        let error = #expect(throws: RingwakeError.self) {
            try identity.register(try app("a.b.x"), of: .prefix("a.b"), random: source.bytes)
        }
        #expect(error?.code == .limitReached && identity == full)
    }

    @Test("An identifier is a UUID of version 4, and nothing else is read as one")
    func randomID() throws {
        let id = try #require(RandomID(bytes: [UInt8](repeating: 0xFF, count: 16)))
        #expect(id.text == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(RandomID("FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF") == id)
        #expect(RandomID(bytes: []) == nil)
        for text in [
            "", "ffffffff-ffff-1fff-bfff-ffffffffffff", "ffffffff-ffff-4fff-0fff-ffffffffffff",
            "ffffffffffff-4fff-bfff-ffff-ffffffff", "gfffffff-ffff-4fff-bfff-ffffffffffff",
            "ffffffffffff4fffbfffffffffffffff",
        ] { #expect(RandomID(text) == nil, "\(text)") }
    }

    @Test(
        "The vendor of an app without a team is made of the first two parts of its bundle id",
        arguments: [("com.example.phone", "com.example.*"), ("com.example", "com.example.*"), ("phone", "phone.*")])
    func prefix(app name: String, vendor: String) throws {
        #expect(Vendor(prefixOf: try app(name)).description == vendor)
    }
}
