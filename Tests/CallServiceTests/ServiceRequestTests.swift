import ControlProtocol
import FoundationEssentials
import RingwakeCore
import Testing

@testable import CallService

@Suite("A control request and its parameters")
struct ServiceRequestTests {
    private func request(
        _ method: String = "GET", _ query: [String: String] = [:], caller: Caller = .owner
    ) -> ServiceRequest {
        ServiceRequest(method: method, target: "/v1/calls", parts: ["calls"], query: query, body: [], caller: caller)
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
        #expect(try request("GET", query).page() == ServiceRequest.Page(limit: limit, before: before))
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
        let handler = Caller.handler(phone, WakeID(number: 1))
        #expect(try request().app() == nil)
        #expect(try request("GET", ["app": "c.d"]).app() == AppID("c.d"))
        #expect(try request(caller: handler).app() == phone)
        #expect(try request("GET", ["app": "a.b"], caller: handler).app() == phone)
        let refused = #expect(throws: RingwakeError.self) {
            try request("GET", ["app": "c.d"], caller: handler).app()
        }
        #expect(refused?.code == .notPermitted)
        #expect(throws: RingwakeError.self) { try request(caller: .stranger).app() }
        #expect(throws: RingwakeError.self) { try request("GET", ["app": "a..b"]).app() }
    }

    private func decode<Message: Decodable>(
        _ type: Message.Type, _ body: [UInt8], empty: Message? = nil
    ) throws(RingwakeError) -> Message {
        try ServiceRequest(
            method: "POST", target: "/v1/calls/c/report", parts: ["calls", "c", "report"], body: body, caller: .owner
        ).decode(type, empty: empty)
    }

    @Test("A body is one JSON object; what is not known in it is passed over, and no body is the empty message")
    func bodies() throws {
        let report = try decode(CallReport.self, Array(#" {"caller":"a","ring":null,"more":[{}]} "#.utf8))
        #expect(report == CallReport(caller: "a"))
        #expect(try decode(CallReport.self, [], empty: CallReport(callerName: "n")) == CallReport(callerName: "n"))
    }

    @Test(
        "What is wrong with a body is said in our words",
        arguments: [
            ("", "it is empty"), ("[]", "another kind"), ("1", "another kind"), ("{", "byte 1"), ("{}x", "byte 2"),
            (#"{"caller":"a",}"#, "byte 14"), ("\u{FEFF}{}", "byte 0"), (#"{"caller":7}"#, "'caller' has to be a text"),
            (#"{"ring":1}"#, "'ring' has to be true or false"),
            (String(repeating: #"{"a":"#, count: 65), "nested deeper than 64 objects and arrays"),
        ])
    func badBodies(body: String, says: String) {
        let error = #expect(throws: RingwakeError.self) { try decode(CallReport.self, Array(body.utf8)) }
        #expect(error?.code == .invalidRequest && error?.message.contains(says) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("Decoding") == false && error?.message.contains("Dictionary") == false)
    }

    @Test("JSON in UTF-16, and a byte that is no UTF-8, are refused; a missing member is named")
    func odderBodies() {
        for (body, says) in [
            (Array("{}".utf16).flatMap { [UInt8(truncatingIfNeeded: $0), 0] }, "byte 1"),
            (Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8), "byte 6 is not UTF-8"),
            (Array("{}".utf8), "'action' is missing"), (Array(#"{"action":null}"#.utf8), "'action' has to be a text"),
        ] {
            let error = #expect(throws: RingwakeError.self) { try decode(ActionResult.self, body) }
            #expect(error?.message.contains(says) == true, "\(error?.message ?? "")")
        }
    }

    @Test(
        "A reported text is kept as a payload's is: cut at 256 bytes, blank is unknown",
        arguments: [
            ("tel", "tel"), ("", nil), (" ", nil), ("\t\u{A0}", nil),
            (String(repeating: "a", count: 257), String(repeating: "a", count: 256)),
            (String(repeating: "a", count: 255) + "é", String(repeating: "a", count: 255)),
        ] as [(String, String?)])
    func reports(text: String, kept: String?) throws {
        #expect(try CallReport(caller: text, video: true).update() == CallUpdate(caller: kept, hasVideo: true))
        #expect(try CallReport(callerName: text).update() == CallUpdate(callerName: kept))
    }

    @Test("An update that says nothing is refused, a report is not", arguments: ["{}", #"{"video":null}"#])
    func emptyUpdate(body: String) throws {
        let key = CallKey(app: try #require(AppID("com.example.phone")), id: CallID("c1"))
        func event(_ verb: CallVerb) throws(RingwakeError) -> Event {
            try verb.event(on: key, by: nil, body: Array(body.utf8)) { _ in nil }
        }
        let error = #expect(throws: RingwakeError.self) { try event(.update) }
        #expect(error?.code == .invalidRequest && error?.message.contains("the update is empty") == true)
        #expect(throws: Never.self) { try event(.report) }
    }

    @Test("A reported text with a zero byte is refused, and the message says which")
    func zeroByte() {
        let error = #expect(throws: RingwakeError.self) { try CallReport(caller: "a", callerName: "a\0b").update() }
        #expect(error?.code == .invalidRequest && error?.message.contains("'callerName'") == true)
    }
}
