import Cryptography
import HTTPServer
import Logging
import PushGateway
import RingwakeCore
import RunLoop
import Testing

/// A gateway with one team of one key, one registered app, and clocks that stand still until they are moved.
final class GatewayFixture {
    nonisolated static let team = "TEAM123456"
    nonisolated static let otherTeam = "TEAM654321"
    nonisolated static let keyID = "KEY1234567"
    nonisolated static let secondKeyID = "KEY7654321"
    nonisolated static let start: Int64 = 1_800_000_000_000
    nonisolated static let topic = "com.example.phone.voip"

    let app: AppID
    let directory: TemporaryDirectory
    let store: TokenStore
    let key: P256PrivateKey
    let secondKey: P256PrivateKey
    let otherKey: P256PrivateKey
    let log = CapturedLog()
    let world = World()
    let gateway: PushGateway
    let tokens: [PushEnvironment: DeviceToken]

    /// What the gateway sees and does outside of itself.
    final class World {
        var wallClock = GatewayFixture.start
        var bootClock = BootClock.Instant(nanoseconds: 5_000_000_000)
        var configuredApps: Set<AppID> = []
        var delivered: [VerifiedPush] = []
        /// What a push is answered with at once; nil keeps it waiting in `waiting`.
        var outcome: DeliveryOutcome? = .accepted(.started)
        var waiting: [(DeliveryOutcome) -> Void] = []
        /// What is to be called later, and after which time.
        var scheduled: [(after: Duration, body: () -> Void)] = []
        /// Whether somebody watches the requests.
        var isWatched = false
        var watched: [WatchedRequest] = []
    }

    init(topics: [String]? = nil) throws {
        app = try #require(AppID("com.example.phone"))
        directory = try TemporaryDirectory()
        store = try TokenStore(directory: directory.path)
        key = try P256PrivateKey.generate()
        secondKey = try P256PrivateKey.generate()
        otherKey = try P256PrivateKey.generate()
        tokens = try store.register(
            app: app, topic: .voip(of: app), environments: [.development, .production])
        world.configuredApps = [app]
        let world = world
        gateway = PushGateway(
            configuration: try GatewayFixture.configuration(
                topics: topics, key: key, secondKey: secondKey, otherKey: otherKey),
            tokens: store, wallClock: { world.wallClock }, bootClock: { world.bootClock }, logger: log.logger,
            isConfigured: { world.configuredApps.contains($0) },
            schedule: { world.scheduled.append(($0, $1)) },
            watch: RequestWatch(isWatched: { world.isWatched }, report: { world.watched.append($0) }),
            deliver: { push, answer in
                world.delivered.append(push)
                if let outcome = world.outcome {
                    answer(outcome)
                } else {
                    world.waiting.append(answer)
                }
            })
    }

    static func configuration(
        topics: [String]?, key: P256PrivateKey, secondKey: P256PrivateKey, otherKey: P256PrivateKey
    ) throws -> GatewayConfiguration {
        GatewayConfiguration(teams: [
            .init(
                id: team, topics: topics,
                keys: [
                    keyID: try P256PublicKey(pem: key.publicKeyPEM),
                    secondKeyID: try P256PublicKey(pem: secondKey.publicKeyPEM),
                ]),
            .init(id: otherTeam, topics: nil, keys: [keyID: try P256PublicKey(pem: otherKey.publicKeyPEM)]),
        ])
    }

    var now: Int64 { world.wallClock / 1000 }

    func connect(
        _ environment: PushEnvironment = .production, certificate: PeerCertificate? = nil
    ) -> any HTTPConnectionHandler {
        gateway.makeConnectionHandler(
            peer: PeerInfo(address: "192.0.2.1:4711", certificate: certificate), environment: environment)
    }

    func providerToken(
        team: String = GatewayFixture.team, keyID: String = GatewayFixture.keyID, issuedAt: Int64? = nil,
        key: P256PrivateKey? = nil
    ) throws -> String {
        try ProviderToken.sign(keyID: keyID, teamID: team, issuedAt: issuedAt ?? now, key: key ?? self.key)
    }

    /// A token with this text for `iat`.
    func providerToken(issuedAtText: String) throws -> String {
        try signed(claims: #"{"iss":"\#(GatewayFixture.team)","iat":\#(issuedAtText)}"#)
    }

    func signed(
        header: String = #"{"alg":"ES256","kid":"\#(GatewayFixture.keyID)"}"#, claims: String
    ) throws -> String {
        let input = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        return input + "." + Base64URL.encode(try key.rawSignature(for: Array(input.utf8)))
    }

    /// A push that passes every check: the tests spoil one thing of it.
    func request(
        authorization: String?, environment: PushEnvironment = .production,
        _ spoil: (inout HTTPRequest) -> Void = { _ in }
    ) -> HTTPRequest {
        var request = HTTPRequest(
            method: "POST", path: "/3/device/\(tokens[environment]?.hex ?? "")",
            fields: [
                HTTPField(name: "apns-topic", value: GatewayFixture.topic),
                HTTPField(name: "apns-push-type", value: "voip"),
            ],
            body: Array(#"{"call":"1"}"#.utf8), receivedAt: BootClock.Instant(nanoseconds: 4_000_000_000))
        if let authorization {
            request.fields.append(HTTPField(name: "authorization", value: authorization))
        }
        spoil(&request)
        return request
    }

    /// Sends one push with a good provider token over a connection of its own.
    func push(
        _ environment: PushEnvironment = .production, _ spoil: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> FakeExchange {
        let authorization = "bearer " + (try providerToken())
        return send(
            request(authorization: authorization, environment: environment, spoil), over: connect(environment))
    }

    /// Sends a push that is good but for its provider token.
    func push(token: String, over connection: any HTTPConnectionHandler) -> FakeExchange {
        send(request(authorization: "bearer " + token), over: connection)
    }

    func send(_ request: HTTPRequest, over connection: any HTTPConnectionHandler) -> FakeExchange {
        let exchange = FakeExchange()
        connection.received(request, on: exchange)
        return exchange
    }
}

extension HTTPRequest {
    /// Puts another value into the field, or takes it out (nil).
    mutating func set(_ name: String, _ value: String?) {
        fields.removeAll { $0.name == name }
        if let value {
            fields.append(HTTPField(name: name, value: value))
        }
    }
}
