import ArgumentParser
import ControlProtocol
import RingwakeCore
import Testing

@testable import PushClient
@testable import RingwakeCommands

@Suite("ringwake push")
struct PushCommandTests {
    private func message(_ arguments: [String]) throws -> PushMessageOptions {
        let command = try RingwakeCommand.parseAsRoot(["push", "--token", "00"] + arguments)
        return try #require(command as? PushSendCommand).message
    }

    @Test("push type and payload follow the topic unless they are given")
    func defaults() throws {
        let plain = try message([]).request(token: "00", topic: nil, at: 0)
        #expect(plain.pushType == nil && plain.payload == Array("{}".utf8) && plain.expiration == nil)
        let voip = try message([]).request(token: "00", topic: "com.example.phone.voip", at: 0)
        #expect(voip.pushType == "voip" && voip.payload == Array("{}".utf8))
        let alert = try message(["--topic", "com.example.phone"]).request(token: "00", topic: "x.voip", at: 0)
        #expect(alert.topic == "com.example.phone" && alert.pushType == "alert")
        #expect(alert.payload == Array(#"{"aps":{}}"#.utf8))
        let given = try message(["--push-type", "bogus", "--data", "nonsense", "--priority", "7"])
            .request(token: "00", topic: "x.voip", at: 0)
        #expect(given.pushType == "bogus" && given.payload == Array("nonsense".utf8) && given.priority == "7")
        #expect(PushMessageOptions.pushType(of: "a.b.voip-ptt") == "pushtotalk")
    }

    @Test("--expires is counted from now, and 0 stays 0")
    func expiration() throws {
        let at = { (text: String) in try message(["--expires", text]).request(token: "0", topic: nil, at: 1_000) }
        #expect(try at("30s").expiration == 1_030)
        #expect(try at("0").expiration == 0)
        #expect(try at("500ms").expiration == 1_001)
    }

    @Test("a payload file is sent byte for byte")
    func payloadFile() throws {
        let directory = TemporaryDirectory()
        directory.write("{ \"a\" : 1.0 }\n", to: "payload")
        let request = try message(["--payload", directory.path + "/payload"]).request(token: "0", topic: nil, at: 0)
        #expect(request.payload == Array("{ \"a\" : 1.0 }\n".utf8))
        #expect(throws: RingwakeError.self) {
            try message(["--payload", directory.path + "/none"]).request(token: "0", topic: nil, at: 0)
        }
    }

    @Test("an address for all interfaces becomes the loopback address")
    func reachableAddresses() {
        #expect(PushPlan.reachable("0.0.0.0:8443").map { "\($0)|\($1)" } == "127.0.0.1|8443")
        #expect(PushPlan.reachable("[::]:1").map { "\($0)|\($1)" } == "[::1]|1")
        #expect(PushPlan.reachable("192.0.2.7:65535").map { "\($0)|\($1)" } == "192.0.2.7|65535")
        for bad in ["", ":8443", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x"] {
            #expect(PushPlan.reachable(bad) == nil, "\(bad)")
        }
    }

    @Test("connect-to takes four parts, IPv6 in brackets, and real ports")
    func connectTo() {
        for good in ["a:443:127.0.0.1:8443", "a:443:[::1]:8443", "::127.0.0.1:1", "[2001:db8::1]:443:b:2"] {
            #expect(PushServer.ConnectTo(good)?.text == good, "\(good)")
        }
        for bad in ["", "a:443:b", "a:443:b:c", "a:0:b:1", "a:1:b:70000", "a:1:b:1:2", "a b:1:c:2", "[a:1:b:2"] {
            #expect(PushServer.ConnectTo(bad) == nil, "\(bad)")
        }
    }

    @Test("the key id comes from the option, else from Apple's file name")
    func keyID() throws {
        let parse = { (arguments: [String]) in
            try RingwakeCommand.parseAsRoot(["push", "--token", "0", "--team", "T"] + arguments) as? PushSendCommand
        }
        #expect(try parse(["--key", "/x/AuthKey_ABC123DEFG.p8"])?.credentials.resolvedKeyID == "ABC123DEFG")
        #expect(try parse(["--key", "/x/AuthKey_A.p8", "--key-id", "B"])?.credentials.resolvedKeyID == "B")
        #expect(throws: (any Error).self) { try parse(["--key", "/x/AuthKey_.p8"]) }
    }

    private func answer(_ status: Int, outcome: String? = nil, reason: String? = nil) -> PushAnswer {
        PushAnswer(
            status: status, apnsID: "ID", uniqueID: nil, outcome: outcome, reason: reason,
            timestamp: status == 410 ? 1_700 : nil,
            httpVersion: "2",
            timings: PushTimings(
                dnsUs: 10, connectUs: 100, tlsUs: 3_000, sentUs: 3_100, answerUs: 4_000, totalUs: 4_200,
                reusedConnection: false))
    }

    @Test("a refusal has APNs' reason and our hint, for programs and for people")
    func refusal() throws {
        let result = PushResult(answer(410, reason: "Unregistered"), from: PushServer(host: "::1", port: 8443))
        #expect(
            String(decoding: controlLine(result), as: UTF8.self)
                == #"{"accepted":false,"apnsId":"ID","hint":"the app was removed from the "#
                + #"device; stop sending to this token","httpVersion":"2","reason":"Unregistered","schema":1,"#
                + #""server":"[::1]:8443","status":410,"timestamp":1700,"timings":{"answerUs":4000,"connectUs":100,"#
                + #""dnsUs":10,"reusedConnection":false,"sentUs":3100,"tlsUs":3000,"totalUs":4200}}"# + "\n")
        let text = PushText.text(of: result, style: TextStyle(isEnabled: false))
        #expect(text.hasPrefix("410 Unregistered from [::1]:8443 in 4.20 ms\n  apns-id     ID\n"))
        #expect(
            PushResult(answer(400, reason: "X"), from: PushServer(host: "h")).hint?.contains("does not document")
                == true)
        #expect(PushResult(answer(404), from: PushServer(host: "h")).hint?.contains("is it a push service") == true)
        #expect(PushResult(answer(200), from: PushServer(host: "h")).hint == nil)
    }

    @Test("an accepted push that rings nowhere says so", arguments: [nil, "started", "restricted", "soon\u{1b}"])
    func outcome(_ outcome: String?) {
        let result = PushResult(answer(200, outcome: outcome), from: PushServer(host: "h"))
        let text = PushText.text(of: result, style: TextStyle(isEnabled: false))
        #expect(text.contains("outcome") == (outcome != nil && outcome != "started") && !text.contains("\u{1b}"))
        #expect(String(decoding: controlLine(result), as: UTF8.self).contains(#""outcome":"#) == (outcome != nil))
    }

    @Test("an answer over a detour says so, and does not claim the named host")
    func detour() {
        let server = PushServer(
            host: PushServer.appleHost(for: .development),
            connectTo: .init("api.sandbox.push.apple.com:443:127.0.0.1:1"))
        let text = PushText.text(of: PushResult(answer(200), from: server), style: TextStyle(isEnabled: false))
        #expect(text.contains("(connecting by api.sandbox.push.apple.com:443:127.0.0.1:1)"))
    }

    @Test("the sender's stages are shown with their steps")
    func stages() {
        let timings = PushResult(answer(200), from: PushServer(host: "h")).timings
        #expect(
            PushText.stages(of: timings, style: TextStyle(isEnabled: false)) == """
                  sender         since start      step
                  name resolved        10 us    +10 us
                  connected           100 us    +90 us
                  TLS agreed         3.00 ms  +2.90 ms
                  request sent       3.10 ms   +100 us
                  answer began       4.00 ms   +900 us
                  answered           4.20 ms   +200 us

                """)
    }

    @Test("--app without a listener, a token or a certificate says what is missing")
    func incompleteDaemon() {
        let daemon = FakeDaemon { line in
            line.contains("/v1/status") ? .json(Sample.status(certificate: "/nowhere/server.pem")) : .json(Sample.app)
        }
        let push = { (options: [String]) in ringwake(["push", "--app", "com.example.phone"] + options, at: daemon) }
        let certificate = push([])
        #expect(certificate.status == 5 && certificate.errors.contains("setup --app com.example.phone"))
        let listener = push(["--environment", "production"])
        #expect(listener.status == 5 && listener.errors.contains("production"))
    }

    @Test("a series counts answers and sums up how long they took")
    func series() {
        var series = PushSeries()
        #expect(series.text(style: TextStyle(isEnabled: false)) == "")
        series.add(PushResult(answer(200), from: PushServer(host: "h")))
        #expect(series.isAllAccepted)
        series.add(PushResult(answer(400, reason: "BadTopic"), from: PushServer(host: "h")))
        #expect(!series.isAllAccepted)
        #expect(
            series.text(style: TextStyle(isEnabled: false)) == """
                2 pushes
                  400 BadTopic  1
                  accepted      1
                  answered after 4.20 ms at best, 4.20 ms median, 4.20 ms at 99 %, 4.20 ms at worst

                """)
    }
}
