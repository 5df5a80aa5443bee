import HTTPServer
import PushGateway
import RingwakeCore
import RunLoop
import Testing

@MainActor @Suite struct RequestCheckTests {
    let fixture: GatewayFixture

    init() throws {
        fixture = try GatewayFixture()
    }

    @Test("A push that passes every check is handed on byte for byte and answered 200 without a body")
    func goodPush() throws {
        let id = "0B3C7E5A-0D1E-4F2A-8B3C-4D5E6F708192"
        let exchange = try fixture.push {
            $0.set("apns-id", id)
            $0.set("apns-collapse-id", "line 1")
            $0.set("content-type", "application/json")
        }
        #expect(exchange.response == HTTPResponse(status: 200, fields: [HTTPField(name: "apns-id", value: id)]))
        let push = try #require(fixture.world.delivered.first)
        var expected = VerifiedPush(
            pushID: id, app: fixture.app,
            provenance: Provenance(sender: GatewayFixture.team, door: .apns(.production, .voip(of: fixture.app))),
            priority: .immediate,
            expiration: nil, collapseID: "line 1", payload: Array(#"{"call":"1"}"#.utf8),
            receivedAt: BootInstant(nanoseconds: 4_000_000_000), verifiedAt: BootInstant(nanoseconds: 5_000_000_000))
        expected.receivedWallClock = fixture.world.wallClock - 1_000
        #expect(push == expected)
        #expect(fixture.gateway.counters.accepted == 1)
    }

    @Test(
        "Each fault has its reason",
        arguments: [
            ("method GET", "MethodNotAllowed", 405), ("path /3/devices/1", "BadPath", 404),
            ("path /", "BadPath", 404), ("path /3/device/ab/c", "BadPath", 404),
            ("path /3/device/ab?c", "BadPath", 404), ("path ", "BadPath", 404),
            ("path /3/device/", "MissingDeviceToken", 400), ("path /3/device", "MissingDeviceToken", 400),
            ("path /3/device/zz", "BadDeviceToken", 400), ("path /3/device/00ff", "BadDeviceToken", 400),
            ("path /3/device/\(String(repeating: "0", count: 64))", "BadDeviceToken", 400),
            ("path /3/device/\(String(repeating: "é", count: 32))", "BadDeviceToken", 400),
            ("add apns-topic com.example.phone.voip", "DuplicateHeaders", 400),
            ("add apns-push-type voip", "DuplicateHeaders", 400), ("add authorization x", "DuplicateHeaders", 400),
            ("add apns-new 1;add apns-new 1", "DuplicateHeaders", 400),
            ("add accept a;add accept b;add apns-new 1", "200", 200),
            ("set authorization ", "MissingProviderToken", 403),
            ("set authorization none", "MissingProviderToken", 403),
            ("set authorization Basic YTpi", "MissingProviderToken", 403),
            ("set authorization bearer", "MissingProviderToken", 403),
            ("set authorization bearer x", "InvalidProviderToken", 403),
            ("set apns-id 1", "BadMessageId", 400), ("set apns-id ", "BadMessageId", 400),
            ("set apns-id 0b3c7e5a-0d1e-4f2a-8b3c-4d5e6f70819g", "BadMessageId", 400),
            ("set apns-id 0b3c7e5a00d1e-4f2a-8b3c-4d5e6f708192", "BadMessageId", 400),
            ("set apns-expiration soon", "BadExpirationDate", 400), ("set apns-expiration ", "BadExpirationDate", 400),
            ("set apns-expiration -1", "BadExpirationDate", 400), ("set apns-expiration +1", "BadExpirationDate", 400),
            ("set apns-expiration 1.5", "BadExpirationDate", 400), ("set apns-expiration ١٢", "BadExpirationDate", 400),
            ("set apns-expiration 9223372036854775808", "BadExpirationDate", 400),
            ("set apns-expiration 9223372036854775807", "200", 200),
            ("set apns-priority 7", "BadPriority", 400), ("set apns-priority ", "BadPriority", 400),
            ("set apns-priority 5", "200", 200), ("set apns-priority 1", "200", 200),
            ("set apns-collapse-id \(String(repeating: "c", count: 64))", "200", 200),
            ("set apns-collapse-id \(String(repeating: "c", count: 65))", "BadCollapseId", 400),
            ("set apns-collapse-id \(String(repeating: "é", count: 33))", "BadCollapseId", 400),
            ("set apns-topic nil", "MissingTopic", 400), ("set apns-topic ", "BadTopic", 400),
            ("set apns-topic com/example", "BadTopic", 400),
            ("set apns-topic \(String(repeating: "t", count: 256))", "BadTopic", 400),
            ("set apns-topic com.example.phone", "InvalidPushType", 400),
            ("set apns-topic com.example.phone;set apns-push-type alert", "DeviceTokenNotForTopic", 400),
            ("set apns-topic com.example.other.voip", "DeviceTokenNotForTopic", 400),
            ("set apns-push-type call", "InvalidPushType", 400), ("set apns-push-type ", "InvalidPushType", 400),
            ("set apns-push-type alert", "InvalidPushType", 400),
            ("set apns-push-type nil", "200", 200),
            (
                "set apns-topic com.example.phone;set apns-push-type background;set apns-priority 10",
                "DeviceTokenNotForTopic", 400
            ),
            ("body ", "PayloadEmpty", 400), ("body  ", "PayloadEmpty", 400), ("body [1]", "PayloadEmpty", 400),
            ("body {\"a\":}", "PayloadEmpty", 400), ("body {}x", "PayloadEmpty", 400), ("body {}", "200", 200),
        ])
    func faultHasItsReason(_ edits: String, _ reason: String, _ status: Int) throws {
        let exchange = try fixture.push { request in
            for edit in edits.split(separator: ";") {
                let words = edit.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
                switch words[0] {
                case "method": request.method = words[1]
                case "path": request.path = words[1]
                case "add": request.fields.append(HTTPField(name: words[1], value: words[2]))
                case "set": request.set(words[1], words[2] == "nil" ? nil : words[2])
                default: request.body = Array(edit.dropFirst(5).utf8)
                }
            }
        }
        #expect(exchange.reason == reason)
        #expect(exchange.status == status)
        #expect(fixture.world.delivered.count == (status == 200 ? 1 : 0))
        #expect(fixture.gateway.counters.refused == (status == 200 ? [:] : [reason: 1]))
    }

    @Test("A VoIP payload may have 5120 bytes, any other 4096")
    func payloadSizes() throws {
        func push(_ size: Int, topic: String, type: String) throws -> String {
            try fixture.push {
                $0.set("apns-topic", topic)
                $0.set("apns-push-type", type)
                $0.body = Array(#"{"a":""#.utf8) + [UInt8](repeating: 0x61, count: size - 8) + Array(#""}"#.utf8)
            }.reason
        }
        #expect(try push(5120, topic: GatewayFixture.topic, type: "voip") == "200")
        #expect(try push(5121, topic: GatewayFixture.topic, type: "voip") == "PayloadTooLarge")
        #expect(try push(4096, topic: "com.example.phone", type: "alert") == "DeviceTokenNotForTopic")
        #expect(try push(4097, topic: "com.example.phone", type: "alert") == "PayloadTooLarge")
        #expect(try fixture.push { $0.isBodyTruncated = true }.reason == "PayloadTooLarge")
    }

    @Test(
        "An expiration becomes the end of its second on the boot clock once, at arrival",
        arguments: [
            ("0", VerifiedPush.Expiration.oneAttempt),
            ("1800000030", .at(BootInstant(nanoseconds: 36_000_000_000))),
            ("1799999990", .at(BootInstant(nanoseconds: -4_000_000_000))),
            ("1", .at(BootInstant(nanoseconds: -1_799_999_993_000_000_000))),
            ("9223372036854775807", .at(BootInstant(nanoseconds: .max))),
        ])
    func expiration(_ text: String, _ expected: VerifiedPush.Expiration) throws {
        #expect(try fixture.push { $0.set("apns-expiration", text) }.status == 200)
        #expect(fixture.world.delivered.first?.expiration == expected)
    }

    @Test(
        "The cause of a refused payload names the rule",
        arguments: [
            ("", "it is empty"), ("[1]", "it is a value of another kind"), (#"{"a":1,}"#, "what stands at byte 7"),
            (#"{"a":"\ud800"}"#, "the escape at byte 6 is half a surrogate pair"),
            (String(repeating: #"{"a":"#, count: 65), "deeper than 64 objects and arrays"),
        ])
    func payloadCauses(_ payload: String, _ cause: String) throws {
        #expect(try fixture.push { $0.body = Array(payload.utf8) }.reason == "PayloadEmpty")
        #expect(fixture.log.lines.last?.contains("the payload is not a JSON object: ") == true)
        #expect(fixture.log.lines.last?.contains(cause) == true)
    }

    @Test("A token in upper case is the same token")
    func upperCaseToken() throws {
        let hex = try #require(fixture.tokens[.production]?.hex)
        #expect(try fixture.push { $0.path = "/3/device/" + hex.uppercased() }.status == 200)
    }

    @Test("A token of the other environment is BadDeviceToken, and the log alone says which it is for")
    func otherEnvironment() throws {
        let hex = try #require(fixture.tokens[.development]?.hex)
        #expect(try fixture.push { $0.path = "/3/device/" + hex }.reason == "BadDeviceToken")
        #expect(fixture.log.lines.contains { $0.contains("is for development") })
    }

    @Test("A push to a removed app is 410 with the time of its removal")
    func unregistered() throws {
        try fixture.store.unregister(app: fixture.app, at: 1_799_000_000_123)
        let exchange = try fixture.push()
        #expect(exchange.status == 410)
        #expect(
            exchange.response?.body == Array(#"{"reason":"Unregistered","timestamp":1799000000123}"#.utf8))
    }

    @Test("A push to a token that was replaced is 410 ExpiredToken with that time, also after the app was removed")
    func expired() throws {
        try fixture.store.renew(app: fixture.app, at: 1_799_000_000_123)
        for _ in 0..<2 {
            let exchange = try fixture.push()
            #expect(exchange.status == 410)
            #expect(exchange.response?.body == Array(#"{"reason":"ExpiredToken","timestamp":1799000000123}"#.utf8))
            try? fixture.store.unregister(app: fixture.app, at: 1_799_000_000_999)
        }
        #expect(fixture.log.lines.last?.contains("was replaced by a new one at") == true)
    }

    @Test("A push to an app that is not configured now is 503, so that no sender forgets its token")
    func notConfigured() throws {
        fixture.world.configuredApps = []
        let exchange = try fixture.push()
        #expect(exchange.reason == "ServiceUnavailable")
        #expect(exchange.status == 503)
    }

    @Test("A topic that the team's configuration leaves out is 403, not a 400 that makes senders forget the token")
    func forbiddenTopic() throws {
        let fixture = try GatewayFixture(topics: ["com.example.other.voip"])
        #expect(try fixture.push().reason == "Forbidden")
        let allowed = try GatewayFixture(topics: [GatewayFixture.topic])
        #expect(try allowed.push().reason == "200")
    }

    @Test("A stranger learns nothing about tokens")
    func strangersCannotProbe() throws {
        let good = fixture.request(authorization: nil)
        for path in [good.path, "/3/device/zz", "/3/device/\(String(repeating: "0", count: 64))"] {
            let stranger = fixture.request(authorization: nil) { $0.path = path }
            #expect(fixture.send(stranger, over: fixture.connect()).reason == "MissingProviderToken")
        }
    }

    @Test("A machine whose clock is far behind answers 503 and judges nothing")
    func implausibleClock() throws {
        let authorization = "bearer " + (try fixture.providerToken())
        fixture.world.wallClock = 1_000
        let exchange = fixture.send(fixture.request(authorization: authorization), over: fixture.connect())
        #expect(exchange.reason == "ServiceUnavailable")
    }
}
