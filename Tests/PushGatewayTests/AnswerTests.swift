import Cryptography
import HTTPServer
import ProviderAPI
import RingwakeCore
import RunLoop
import Testing

@testable import PushGateway

@MainActor @Suite struct AnswerTests {
    let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    @Test(
        "The sender's apns-id comes back exactly as sent, on success, refusal and even when it is malformed",
        arguments: ["0B3C7E5A-0D1E-4F2A-8B3C-4D5E6F708192", "0b3c7e5a-0D1E-4f2a-8b3c-4d5e6f708192", "call 7"])
    func idIsEchoed(_ id: String) throws {
        #expect(try fixture.push { $0.set("apns-id", id) }.field("apns-id") == id)
        let refused = try fixture.push {
            $0.set("apns-id", id)
            $0.body = []
        }
        #expect(refused.field("apns-id") == id)
    }

    @Test(
        "An apns-id that is absent or cannot stand in an answer is replaced by a canonical UUID",
        arguments: [nil, "", "a\u{1}b", "é", String(repeating: "a", count: 129)])
    func idIsMade(_ id: String?) throws {
        let made = try #require(try fixture.push { $0.set("apns-id", id) }.field("apns-id"))
        #expect(isCanonicalUUID(made))
    }

    @Test("A push without apns-id is known by the made one everywhere")
    func madeIDIsShared() throws {
        let exchange = try fixture.push()
        #expect(fixture.world.delivered.first?.pushID == exchange.field("apns-id"))
    }

    @Test("apns-unique-id comes in the development environment only, and is new each time")
    func uniqueID() throws {
        let connection = fixture.connect(.development)
        let token = "bearer " + (try fixture.providerToken())
        let ids = try (0..<2).map { _ in
            let request = fixture.request(authorization: token, environment: .development)
            return try #require(fixture.send(request, over: connection).field("apns-unique-id"))
        }
        #expect(ids.allSatisfy(isCanonicalUUID))
        #expect(ids[0] != ids[1])
        #expect(try fixture.push().field("apns-unique-id") == nil)
        #expect(try fixture.push { $0.body = [] }.field("apns-unique-id") == nil)
    }

    @Test("A refusal is one JSON object with the reason and nothing else")
    func refusalShape() throws {
        let exchange = try fixture.push {
            $0.set("apns-id", "0b3c7e5a-0d1e-4f2a-8b3c-4d5e6f708192")
            $0.set("apns-priority", "3")
        }
        #expect(
            exchange.response
                == HTTPResponse(
                    status: 400,
                    fields: [
                        HTTPField(name: "apns-id", value: "0b3c7e5a-0d1e-4f2a-8b3c-4d5e6f708192"),
                        HTTPField(name: "content-type", value: "application/json"),
                    ],
                    body: Array(#"{"reason":"BadPriority"}"#.utf8)))
    }

    @Test("A success has no body and no other field, whatever became of the push", arguments: PushOutcome.allCases)
    func successShape(_ outcome: PushOutcome) throws {
        fixture.world.outcome = .accepted(outcome)
        for asked in [nil, "0", "true"] {
            let exchange = try fixture.push { $0.set("ringwake-outcome", asked) }
            #expect(exchange.response?.body == [] && exchange.response?.fields.map(\.name) == ["apns-id"])
        }
    }

    @Test("The outcome goes to a sender that asks, by header or by its team", arguments: [true, false])
    func outcome(byHeader: Bool) throws {
        fixture.world.outcome = .accepted(.restricted)
        if !byHeader {
            let key = try P256PublicKey(pem: fixture.key.publicKeyPEM)
            fixture.gateway.reconfigure(
                GatewayConfiguration(teams: [
                    .init(id: GatewayFixture.team, topics: nil, keys: [GatewayFixture.keyID: key], getsOutcome: true)
                ]))
        }
        let exchange = try fixture.push { if byHeader { $0.set("ringwake-outcome", "1") } }
        #expect(exchange.response?.body == Array(#"{"outcome":"restricted"}"#.utf8))
        #expect(exchange.status == 200 && exchange.field("content-type") == "application/json")
    }

    @Test("A connection that fails is warned of once in a while for each reason, a refused credential each time")
    func warnings() throws {
        func warnings() -> Int { fixture.log.lines.filter { $0.hasPrefix("warning ") }.count }
        for number in 0..<5 {
            fixture.gateway.connectionFailed(
                FailedConnection(peer: "192.0.2.\(number):1", reason: .serverExpired, detail: "x"),
                environment: .production)
        }
        #expect(warnings() == 1)
        fixture.world.bootClock = fixture.world.bootClock.advanced(by: PushGateway.failureWarningPeriod)
        for reason in [FailedConnection.Reason.serverExpired, .notTLS] {
            fixture.gateway.connectionFailed(
                FailedConnection(peer: "192.0.2.1:1", reason: reason, detail: "x"), environment: .production)
        }
        #expect(warnings() == 3)
        let old = try fixture.providerToken(issuedAt: fixture.now - 7200)
        #expect(fixture.push(token: old, over: fixture.connect()).reason == "ExpiredProviderToken")
        #expect(warnings() == 4)
        _ = try fixture.push { $0.body = [] }
        #expect(warnings() == 4)
    }

    @Test("Each reason has the status of Apple's table")
    func reasons() {
        let byStatus = Dictionary(grouping: RejectionReason.allCases, by: \.status).mapValues(\.count)
        #expect(byStatus == [400: 14, 403: 7, 404: 1, 405: 1, 410: 2, 413: 1, 429: 2, 500: 1, 503: 2])
        #expect(RejectionReason.allCases.allSatisfy { !$0.hint.isEmpty })
    }

    @Test(
        "Each refusal of the device has its reason",
        arguments: [
            (PushRefusal.tooManyCalls, "TooManyRequests", 429), (.tooManyPushes, "TooManyRequests", 429),
            (.mailboxFull, "TooManyRequests", 429), (.unavailable, "ServiceUnavailable", 503),
            (.unregistered, "Unregistered", 410),
        ])
    func deliveryRefusals(_ refusal: PushRefusal, _ reason: String, _ status: Int) throws {
        fixture.world.outcome = .refused(refusal)
        let exchange = try fixture.push()
        #expect(exchange.reason == reason)
        #expect(exchange.status == status)
        #expect((exchange.timestamp != nil) == (status == 410))
    }

    @Test("Each refusal of the device has a cause of its own, with the bound", arguments: PushRefusal.allCases)
    func deliveryCauses(_ refusal: PushRefusal) {
        let cause = Refusal(refusal, of: fixture.app).cause
        let words =
            switch refusal {
            case .tooManyCalls: "512 calls or handlers of com.example.phone are active, or 1024 of all apps"
            case .tooManyPushes: "has started 1000 calls of com.example.phone and gets one more each 50 ms"
            case .mailboxFull: "as many pushes wait for the linked device as may"
            case .unavailable: "the journal cannot store the push now"
            case .unregistered: "the linked device has no such registration any more"
            }
        #expect(cause.contains(words))
    }

    @Test("410 alone has a timestamp", arguments: RejectionReason.allCases)
    func refusal(_ reason: RejectionReason) {
        let response = ProviderAnswer(sentID: nil, environment: .production).refusal(reason, timestamp: 1)
        #expect(response.status == reason.status)
        let timestamp = reason.status == 410 ? #","timestamp":1"# : ""
        #expect(response.body == Array(#"{"reason":"\#(reason.rawValue)"\#(timestamp)}"#.utf8))
    }

    @Test("An answer that comes after the sender left does no harm and still counts")
    func lateAnswer() throws {
        fixture.world.outcome = nil
        let connection = fixture.connect()
        let exchange = fixture.push(token: try fixture.providerToken(), over: connection)
        #expect(exchange.response == nil)
        exchange.disconnect()
        connection.connectionClosed()
        fixture.world.waiting.first?(.accepted(.started))
        #expect(exchange.response == nil)
        #expect(fixture.gateway.counters.accepted == 1)
    }

    @Test("A push that is answered twice counts once")
    func answeredTwice() throws {
        fixture.world.outcome = nil
        let exchange = try fixture.push()
        fixture.world.waiting.first?(.accepted(.started))
        fixture.world.waiting.first?(.refused(.unavailable))
        #expect(exchange.status == 200)
        #expect(fixture.gateway.counters.accepted == 1)
        #expect(fixture.gateway.counters.refused.isEmpty)
    }

    @Test("A refusal is logged under its apns-id with the cause, and without token, payload or line breaks")
    func refusalIsLogged() throws {
        let hex = try #require(fixture.tokens[.production]?.hex)
        let exchange = try fixture.push {
            $0.set("apns-topic", "com.example.other.voip")
            $0.set("apns-id", "0b3c7e5a-0d1e-4f2a-8b3c-4d5e6f708192")
        }
        #expect(exchange.reason == "DeviceTokenNotForTopic")
        let line = try #require(fixture.log.lines.last)
        for part in [
            "notice push refused", "apns-id=0b3c7e5a-0d1e-4f2a-8b3c-4d5e6f708192", "reason=DeviceTokenNotForTopic",
            "is for the topic com.example.phone.voip, not 'com.example.other.voip'", "team='TEAM123456'",
            "peer=192.0.2.1:4711",
        ] {
            #expect(line.contains(part))
        }
        #expect(!line.contains(hex))
        #expect(!line.contains("call"))

        let forged = try fixture.signed(
            header: #"{"alg":"ES256","kid":"a\nforged line"}"#, claims: #"{"iss":"x","iat":1}"#)
        #expect(fixture.push(token: forged, over: fixture.connect()).reason == "InvalidProviderToken")
        #expect(try #require(fixture.log.lines.last).contains("\n") == false)
    }

    private func isCanonicalUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && text.allSatisfy { "0123456789abcdef-".contains($0) }
            && groups[2].first == "4" && "89ab".contains(groups[3].prefix(1))
    }
}
