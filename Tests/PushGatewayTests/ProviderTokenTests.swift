import Cryptography
import HTTPServer
import PushGateway
import RingwakeCore
import RunLoop
import Testing

@MainActor @Suite struct ProviderTokenTests {
    let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    @Test(
        "iat may be an integer, a float or a numeric string; anything else is InvalidProviderToken",
        arguments: [
            ("1800000000", "200"), ("1800000000.25", "200"), ("\"1800000000\"", "200"), ("1.8e9", "200"),
            ("1e300", "InvalidProviderToken"), ("-1e300", "InvalidProviderToken"), ("1e999", "InvalidProviderToken"),
            ("\"NaN\"", "InvalidProviderToken"), ("NaN", "InvalidProviderToken"), ("\"inf\"", "InvalidProviderToken"),
            ("-5", "InvalidProviderToken"), ("null", "InvalidProviderToken"), ("true", "InvalidProviderToken"),
            ("{}", "InvalidProviderToken"), ("\"\"", "InvalidProviderToken"), ("\"soon\"", "InvalidProviderToken"),
            ("9223372036854775808", "InvalidProviderToken"), ("9223372036854775807", "InvalidProviderToken"),
            ("18446744073709551616", "InvalidProviderToken"), ("0", "ExpiredProviderToken"),
        ])
    func issuedAt(_ text: String, _ reason: String) throws {
        let token = try fixture.providerToken(issuedAtText: text)
        #expect(fixture.push(token: token, over: fixture.connect()).reason == reason)
    }

    @Test("Absent claims and other algorithms are InvalidProviderToken")
    func malformedTokens() throws {
        let good = #"{"iss":"\#(GatewayFixture.team)","iat":1800000000}"#
        let tokens = [
            try fixture.signed(claims: #"{"iss":"\#(GatewayFixture.team)"}"#),
            try fixture.signed(claims: #"{"iat":1800000000}"#),
            try fixture.signed(claims: "[]"),
            try fixture.signed(header: #"{"alg":"none","kid":"\#(GatewayFixture.keyID)"}"#, claims: good),
            try fixture.signed(header: #"{"alg":"HS256","kid":"\#(GatewayFixture.keyID)"}"#, claims: good),
            try fixture.signed(header: #"{"alg":"ES256"}"#, claims: good),
            "a.b.c", "...", "", String(repeating: "a", count: 5000),
        ]
        for token in tokens {
            let reason = fixture.push(token: token, over: fixture.connect()).reason
            #expect(reason == (token.isEmpty ? "MissingProviderToken" : "InvalidProviderToken"))
        }
    }

    @Test(
        "Extra fields of a token are ignored, and the scheme may be in any case",
        arguments: ["bearer", "Bearer", "BEARER "])
    func extraFieldsAndScheme(_ scheme: String) throws {
        let token = try fixture.signed(
            header: #"{"typ":"JWT","alg":"ES256","kid":"\#(GatewayFixture.keyID)"}"#,
            claims: #"{"aud":"x","exp":1,"iss":"\#(GatewayFixture.team)","iat":1800000000}"#)
        let request = fixture.request(authorization: "\(scheme) \(token)")
        #expect(fixture.send(request, over: fixture.connect()).reason == "200")
    }

    @Test("Key and team must be a configured pair, and the signature that key's")
    func keyAndTeam() throws {
        let tokens = [
            try fixture.providerToken(keyID: "UNKNOWN000"), try fixture.providerToken(team: "UNKNOWN000"),
            try fixture.providerToken(keyID: GatewayFixture.secondKeyID),
            try fixture.providerToken(team: GatewayFixture.otherTeam),
            try fixture.providerToken(key: .generate()),
        ]
        for token in tokens {
            #expect(fixture.push(token: token, over: fixture.connect()).reason == "InvalidProviderToken")
        }
        let second = try fixture.providerToken(keyID: GatewayFixture.secondKeyID, key: fixture.secondKey)
        #expect(fixture.push(token: second, over: fixture.connect()).reason == "200")
        #expect(fixture.world.delivered.last?.provenance.sender == GatewayFixture.team)
    }

    @Test(
        "A token lives for an hour, and may come from five minutes ahead",
        arguments: [
            (-3600, "200"), (-3601, "ExpiredProviderToken"), (0, "200"), (60, "200"), (300, "200"),
            (301, "InvalidProviderToken"),
        ] as [(Int64, String)])
    func age(_ offset: Int64, _ reason: String) throws {
        let token = try fixture.providerToken(issuedAt: fixture.now + offset)
        #expect(fixture.push(token: token, over: fixture.connect()).reason == reason)
    }

    @Test("Only holders of a key learn that a token is too old")
    func signatureBeforeAge() throws {
        let forged = try fixture.providerToken(issuedAt: fixture.now - 7200, key: .generate())
        #expect(fixture.push(token: forged, over: fixture.connect()).reason == "InvalidProviderToken")
    }

    @Test("A token that was good on the connection expires there when its hour is over")
    func rememberedTokenExpires() throws {
        let connection = fixture.connect()
        let token = try fixture.providerToken()
        #expect(fixture.push(token: token, over: connection).reason == "200")
        fixture.world.wallClock += 3_600_000
        #expect(fixture.push(token: token, over: connection).reason == "200")
        fixture.world.wallClock += 1_000
        #expect(fixture.push(token: token, over: connection).reason == "ExpiredProviderToken")
        #expect(fixture.push(token: token, over: connection).reason == "ExpiredProviderToken")
        #expect(fixture.push(token: try fixture.providerToken(), over: connection).reason == "200")
    }

    @Test("A connection belongs to the team of its first good token; a second key of that team is fine")
    func connectionBelongsToATeam() throws {
        let connection = fixture.connect()
        let other = try fixture.providerToken(team: GatewayFixture.otherTeam, key: fixture.otherKey)
        #expect(fixture.push(token: try fixture.providerToken(key: .generate()), over: connection).reason != "200")
        #expect(fixture.push(token: try fixture.providerToken(), over: connection).reason == "200")
        #expect(fixture.push(token: other, over: connection).reason == "UnrelatedKeyIdInToken")
        let second = try fixture.providerToken(keyID: GatewayFixture.secondKeyID, key: fixture.secondKey)
        #expect(fixture.push(token: second, over: connection).reason == "200")
        #expect(fixture.push(token: other, over: fixture.connect()).reason == "200")
    }

    @Test("After twenty bad tokens a connection's new ones are refused unseen; known ones and other connections go on")
    func failuresAreBounded() throws {
        let connection = fixture.connect()
        let known = try fixture.providerToken()
        #expect(fixture.push(token: known, over: connection).reason == "200")
        for _ in 0..<20 {
            let forged = try fixture.providerToken(key: .generate())
            #expect(fixture.push(token: forged, over: connection).reason == "InvalidProviderToken")
        }
        let fresh = try fixture.providerToken(issuedAt: fixture.now - 1)
        #expect(fixture.push(token: fresh, over: connection).reason == "InvalidProviderToken")
        #expect(fixture.gateway.refusals.attempts.last?.cause.contains("not looked at") == true)
        #expect(fixture.push(token: known, over: connection).reason == "200")
        #expect(fixture.push(token: fresh, over: fixture.connect()).reason == "200")
    }

    @Test("More good tokens than are remembered all stay good")
    func manyGoodTokens() throws {
        let connection = fixture.connect()
        let tokens = try (0..<10).map { try fixture.providerToken(issuedAt: fixture.now - Int64($0)) }
        for token in tokens + tokens.reversed() {
            #expect(fixture.push(token: token, over: connection).reason == "200")
        }
    }

    @Test("A connection brings ten new tokens at once, then one each 20 minutes; its known ones stay good")
    func updatesAreBounded() throws {
        let connection = fixture.connect()
        let tokens = try (0..<12).map { try fixture.providerToken(issuedAt: fixture.now - Int64($0)) }
        for token in tokens[..<10] { #expect(fixture.push(token: token, over: connection).reason == "200") }
        let refused = fixture.push(token: tokens[10], over: connection)
        #expect(refused.reason == "TooManyProviderTokenUpdates" && refused.status == 429)
        let line = try #require(fixture.log.lines.last)
        #expect(line.contains("the key 'KEY1234567'") && line.contains("iat \(fixture.now - 10);"))
        #expect(line.contains("the last one has iat \(fixture.now - 9)."))
        for token in tokens[..<10] { #expect(fixture.push(token: token, over: connection).reason == "200") }
        // Other connections have their own count.
        #expect(fixture.push(token: tokens[10], over: fixture.connect()).reason == "200")

        fixture.world.bootClock = fixture.world.bootClock.advanced(by: .seconds(20 * 60))
        #expect(fixture.push(token: tokens[10], over: connection).reason == "200")
        #expect(fixture.push(token: tokens[11], over: connection).reason == "TooManyProviderTokenUpdates")
    }

    @Test("What is no valid token of the team uses up no turn, and has its own reason as long as there are turns")
    func invalidTokensAreNoUpdates() throws {
        let connection = fixture.connect()
        #expect(fixture.push(token: try fixture.providerToken(), over: connection).reason == "200")
        for _ in 0..<12 {
            let forged = try fixture.providerToken(key: .generate())
            #expect(fixture.push(token: forged, over: connection).reason == "InvalidProviderToken")
            let old = try fixture.providerToken(issuedAt: fixture.now - 7200)
            #expect(fixture.push(token: old, over: connection).reason == "ExpiredProviderToken")
            let other = try fixture.providerToken(team: GatewayFixture.otherTeam, key: fixture.otherKey)
            #expect(fixture.push(token: other, over: connection).reason == "UnrelatedKeyIdInToken")
        }
        for number in 1..<10 {
            let token = try fixture.providerToken(issuedAt: fixture.now - Int64(number))
            #expect(fixture.push(token: token, over: connection).reason == "200")
        }
    }

    @Test("A token that is verified again after a reload is no new one")
    func reloadIsNoUpdate() throws {
        let connection = fixture.connect()
        let tokens = try (0..<11).map { try fixture.providerToken(issuedAt: fixture.now - Int64($0)) }
        for token in tokens[..<10] { #expect(fixture.push(token: token, over: connection).reason == "200") }
        fixture.gateway.reconfigure(
            try GatewayFixture.configuration(
                topics: nil, key: fixture.key, secondKey: fixture.secondKey, otherKey: fixture.otherKey))
        for token in tokens[..<10] { #expect(fixture.push(token: token, over: connection).reason == "200") }
        #expect(fixture.push(token: tokens[10], over: connection).reason == "TooManyProviderTokenUpdates")
    }

    @Test("A key that a reload took away is refused on connections that used it, and a new one is taken")
    func reconfigure() throws {
        let connection = fixture.connect()
        let token = try fixture.providerToken()
        #expect(fixture.push(token: token, over: connection).reason == "200")
        let newKey = try P256PrivateKey.generate()
        fixture.gateway.reconfigure(
            try GatewayFixture.configuration(
                topics: nil, key: newKey, secondKey: fixture.secondKey, otherKey: fixture.otherKey))
        #expect(fixture.push(token: token, over: connection).reason == "InvalidProviderToken")
        #expect(fixture.push(token: try fixture.providerToken(key: newKey), over: connection).reason == "200")
    }

    @Test("A reload lifts the bar after too many bad tokens, for the key may have been added")
    func reconfigureLiftsTheBar() throws {
        let connection = fixture.connect()
        for _ in 0..<21 {
            _ = fixture.push(token: "x", over: connection)
        }
        let token = try fixture.providerToken()
        #expect(fixture.push(token: token, over: connection).reason == "InvalidProviderToken")
        fixture.gateway.reconfigure(
            try GatewayFixture.configuration(
                topics: nil, key: fixture.key, secondKey: fixture.secondKey, otherKey: fixture.otherKey))
        #expect(fixture.push(token: token, over: connection).reason == "200")
    }
}
