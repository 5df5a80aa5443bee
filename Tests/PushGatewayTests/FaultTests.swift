import HTTPServer
import ProviderAPI
import RingwakeCore
import RunLoop
import Testing

@testable import PushGateway

@MainActor @Suite("Faults for tests of senders, and those who watch") struct FaultTests {
    let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    private func set(
        _ kind: PushFault.Kind, after: Int = 0, count: Int? = nil, for time: Duration? = nil,
        _ environment: PushEnvironment = .production
    ) {
        let end = time.map { fixture.world.bootClock.advanced(by: $0) }
        fixture.gateway.faults.set(
            PushFault(kind, after: after, count: count, until: end), for: .init(fixture.app, environment))
    }

    private func reasons(_ count: Int) throws -> [String] { try (0..<count).map { _ in try fixture.push().reason } }

    @Test("Any reason, after so many pushes, for so many", arguments: RejectionReason.allCases)
    func reasons(reason: RejectionReason) throws {
        set(.refusal(reason), after: 1, count: 2)
        #expect(try reasons(5) == ["200", reason.rawValue, reason.rawValue, "200", "200"])
        #expect(fixture.world.delivered.count == 3)
        #expect(fixture.gateway.counters.refused == [reason.rawValue: 2])
    }

    @Test("A fault is for one device token, ends with its time, and with the order to end")
    func ends() throws {
        set(.refusal(.unregistered), for: .seconds(10))
        let refused = try fixture.push()
        #expect(refused.status == 410 && refused.timestamp == fixture.world.wallClock)
        #expect(try fixture.push(.development).reason == "200")
        fixture.world.bootClock = fixture.world.bootClock.advanced(by: .seconds(10))
        #expect(fixture.gateway.faults.fault(for: .init(fixture.app, .production), at: fixture.world.bootClock) == nil)
        #expect(try fixture.push().reason == "200")
        set(.refusal(.forbidden))
        #expect(try reasons(2) == ["Forbidden", "Forbidden"])
        fixture.gateway.faults.set(nil, for: .init(fixture.app, .production))
        #expect(try fixture.push().reason == "200")
    }

    @Test("A push that is invalid is refused as always, and does not count")
    func invalid() throws {
        set(.refusal(.forbidden), count: 1)
        #expect(try fixture.push { $0.body = [] }.reason == "PayloadEmpty")
        #expect(try reasons(2) == ["Forbidden", "200"])
    }

    @Test("Later: delivered at once, answered after the time")
    func delay() throws {
        set(.delay(.seconds(5)))
        let exchange = try fixture.push()
        #expect(fixture.world.delivered.count == 1 && exchange.response == nil)
        let scheduled = try #require(fixture.world.scheduled.first)
        #expect(scheduled.after == .seconds(5))
        scheduled.body()
        #expect(exchange.reason == "200")
    }

    @Test("GOAWAY: delivered, answered, and the connection ends")
    func goAway() throws {
        set(.goAway)
        let exchange = try fixture.push()
        #expect(exchange.reason == "200" && exchange.endOfConnection == "Shutdown")
        #expect(fixture.world.delivered.count == 1)
    }

    @Test("Reset, silence: no answer, and nothing is delivered")
    func noAnswer() throws {
        set(.reset)
        let reset = try fixture.push()
        #expect(reset.isAborted && reset.response == nil)
        set(.silence)
        let silent = try fixture.push()
        #expect(!silent.isAborted && silent.isOpen && silent.response == nil)
        #expect(fixture.world.delivered.isEmpty)
    }

    @Test("Who watches gets each request as it came, with its answer; while nobody does, nothing is collected")
    func watched() throws {
        _ = try fixture.push()
        #expect(fixture.world.watched.isEmpty)
        fixture.world.isWatched = true
        let accepted = try fixture.push { $0.set("x-mine", "1") }
        let refused = try fixture.push { $0.body = Array("no".utf8) }
        let early = try fixture.push { $0.set("authorization", nil) }
        set(.silence)
        _ = try fixture.push()
        let watched = fixture.world.watched
        #expect(watched.map(\.status) == [200, 400, 403, nil])
        #expect(watched.map(\.reason) == [nil, "PayloadEmpty", "MissingProviderToken", nil])
        #expect(watched.map(\.fault) == [nil, nil, nil, .silence])
        #expect(watched.map(\.app) == [fixture.app, nil, nil, fixture.app])
        #expect(watched[0].request.body == Array(#"{"call":"1"}"#.utf8))
        #expect(watched[0].request.values(of: "x-mine") == ["1"])
        #expect(watched[0].at == fixture.world.wallClock - 1000, "when the head arrived, 1 s before")
        #expect(watched[0].pushID == accepted.field("apns-id") && watched[1].pushID == refused.field("apns-id"))
        #expect(watched[2].pushID == early.field("apns-id") && watched[2].cause?.isEmpty == false)
    }
}
