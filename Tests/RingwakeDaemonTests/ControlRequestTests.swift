import FoundationEssentials
import RingwakeCore
import Testing

@testable import RingwakeDaemon

@Suite("A control request and its parameters")
struct ControlRequestTests {
    private func request(
        _ method: String = "GET", _ query: [String: String] = [:], caller: ControlCaller = .owner
    ) -> ControlRequest {
        ControlRequest(method: method, target: "/v1/calls", parts: ["calls"], query: query, body: [], caller: caller)
    }

    @Test("A parameter that is not known is refused, and the message names those that are")
    func unknownParameter() {
        #expect(throws: Never.self) { try request("GET", ["app": "a.b"]).require("GET", parameters: ["app", "limit"]) }
        let error = #expect(throws: RingwakeError.self) {
            try request("GET", ["appp": "a.b"]).require("GET", parameters: ["limit", "app"])
        }
        #expect(error?.code == .invalidRequest && error?.message.contains("app, limit") == true)
        #expect(throws: RingwakeError.self) { try request("POST").require("GET") }
        #expect(throws: RingwakeError.self) { try request("HEAD").require("GET") }
    }

    @Test(
        "A page has a limit from 1 to 500 and begins at a number",
        arguments: [
            ([:], 50, nil), (["limit": "1"], 1, nil), (["limit": "500", "before": "1"], 500, 1),
            (["before": "9223372036854775807"], 50, .max),
        ] as [([String: String], Int, Int64?)])
    func pages(query: [String: String], limit: Int, before: Int64?) throws {
        #expect(try request("GET", query).page() == ControlRequest.Page(limit: limit, before: before))
    }

    @Test(
        "What is no such number is refused",
        arguments: ["", "0", "501", "-1", "+1", "1.0", "0x1", "٣", " 1", "99999999999999999999"])
    func badNumbers(text: String) {
        #expect(throws: RingwakeError.self) { try request("GET", ["limit": text]).page() }
        if text != "501" {
            #expect(throws: RingwakeError.self) { try request("GET", ["before": text]).page() }
        }
    }

    @Test("A flag is true, false or left out")
    func flags() throws {
        #expect(try request("GET", ["missed": "true"]).flag("missed"))
        #expect(try !request("GET", ["missed": "false"]).flag("missed"))
        #expect(try !request().flag("missed"))
        for text in ["", "1", "yes", "True"] {
            #expect(throws: RingwakeError.self) { try request("GET", ["missed": text]).flag("missed") }
        }
    }

    @Test("The owner names any app or none, a handler its own, any other user nothing")
    func apps() throws {
        let phone = try #require(AppID("a.b"))
        let handler = ControlCaller.handler(phone, WakeID(number: 1))
        #expect(try request().app() == nil)
        #expect(try request("GET", ["app": "c.d"]).app() == AppID("c.d"))
        #expect(try request(caller: handler).app() == phone)
        #expect(try request("GET", ["app": "a.b"], caller: handler).app() == phone)
        let refused = #expect(throws: RingwakeError.self) {
            try request("GET", ["app": "c.d"], caller: handler).app()
        }
        #expect(refused?.code == .notPermitted)
        #expect(throws: RingwakeError.self) { try request(caller: .user).app() }
        #expect(throws: RingwakeError.self) { try request("GET", ["app": "a..b"]).app() }
    }
}
