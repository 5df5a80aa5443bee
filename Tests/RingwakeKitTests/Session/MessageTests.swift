import ControlProtocol
import FoundationEssentials
import Testing

@testable import RingwakeKit

@Suite("Messages of the daemon")
struct MessageTests {
    @Test(
        "a payload is handed on byte for byte",
        arguments: [
            #"{}"#, #"{ "a" : 1e999, "b":[1, {"payload":"}"}] }"#, #"{"\"payload\"":"\\","x":"]}"}"#,
            #"{"aps":{"alert":"\u00e4ö"}}"#,
        ])
    func payload(_ payload: String) throws {
        let push = try IncomingPush(json: Array(push("c1", payload: payload).utf8))
        #expect(String(decoding: push.payload, as: UTF8.self) == payload)
        guard case .wake(let woken) = try StreamLine(Array(wake("c1", payload: payload).utf8)) else {
            Issue.record("no wake")
            return
        }
        #expect(woken.payload == push.payload)
        #expect(woken.age == .milliseconds(12))
        #expect(woken.reportWithin == .seconds(5))
    }

    @Test("the payload is decoded as the app's own type")
    func decode() throws {
        struct Mine: Decodable { let a: Int }
        let push = try IncomingPush(json: Array(push("c1").utf8))
        #expect(try push.decode(Mine.self).a == 1)
        #expect(throws: RingwakeKitError.self) { try push.decode([String].self) }
    }

    @Test(
        "what is no push is refused",
        arguments: [
            "", "{", "[]", #"{"payload":{}}"#, push("c1", payload: "[]"), push("c1", payload: "{]"),
            push("c1", payload: #"{"a":}"#), push("c1") + "x",
        ])
    func noPush(_ text: String) {
        let error = #expect(throws: RingwakeKitError.self) { try IncomingPush(json: Array(text.utf8)) }
        #expect(error?.code == .badAnswer)
    }

    @Test(
        "what is no line of the stream is refused",
        arguments: [
            "", "x", "{}", "[1]", #"{"event":"call","schema":2}"#, #"{"event":"wake","schema":1}"#,
            #"{"event":"wake","push":{},"schema":1}"#, #"{"event":"call","number":1e99,"schema":1}"#,
            String(repeating: "[", count: 2_000),
        ])
    func noLine(_ text: String) {
        let error = #expect(throws: RingwakeKitError.self) { try StreamLine(Array(text.utf8)) }
        #expect(error?.code == .badAnswer)
    }

    @Test(
        "an event that this version does not know, or that is not about the app, is passed over",
        arguments: [
            #"{"event":"aurora","schema":1}"#, #"{"event":"connection","connection":"online","schema":1}"#,
            #"{"event":"reload","schema":1}"#,
        ])
    func unknown(_ text: String) throws {
        var bench = try SessionBench.open(wake("c1"))
        #expect(try bench.hear(text) == [])
    }

    @Test("a word that this version does not know is kept")
    func unknownWords() throws {
        var bench = try SessionBench.open(wake("c1"))
        #expect(try bench.hear(call("c1", 1, "dreaming")) == ["c1 dreaming own"])
        #expect(try bench.hear(action("c1", "dance")) == ["action c1 dance #1"])
        #expect(try bench.hear(call("c1", 1, "ended", #","endReason":"boredom""#)) == ["c1 ended boredom"])
        #expect(try IncomingPush(json: Array(push("c1", kind: "other").utf8)).kind.rawValue == "other")
    }

    @Test("bytes that are cut or changed anywhere do no harm")
    func mangled() {
        let line = Array(wake("c1", payload: #"{"a":["b\"",{"c":null}]}"#).utf8)
        var taken = 0
        for index in line.indices {
            let (before, after) = (line[..<index], line[(index + 1)...])
            for bytes in [before, before + [0x22] + after, before + [0xFF]] {
                do throws(RingwakeKitError) {
                    _ = try StreamLine(Array(bytes))
                    taken += 1
                } catch {
                    #expect(error.code == .badAnswer)
                }
            }
        }
        #expect(taken < line.count)
    }

    @Test("events are told as what they are")
    func events() throws {
        var bench = try SessionBench.open(wake("c1"))
        let restricted =
            #"{"app":"a","call":"c1","event":"restricted","restriction":{"detail":"until 7","kind":"doNotDisturb"},"#
            + #""schema":1}"#
        #expect(try bench.hear(restricted) == ["c1 filtered doNotDisturb"])
        #expect(try bench.hear(#"{"active":true,"event":"cellular","schema":1}"#) == ["cellular true"])
        let path =
            #"{"app":"com.example.phone","call":"c1","event":"path","path":{"gateways":[],"interface":"eth0","#
            + #""interfaceType":"wiredEthernet","interfaces":[{"index":2,"name":"eth0","type":"wiredEthernet"}],"#
            + #""isConstrained":false,"isExpensive":false,"reason":null,"schema":1,"sources":["192.0.2.7"],"#
            + #""status":"satisfied","supportsDNS":true,"supportsIPv4":true,"supportsIPv6":false},"schema":1}"#
        #expect(try bench.hear(path) == [#"c1 path ["192.0.2.7"]"#])
        let reset =
            #"{"device":"d","event":"linkReset","gateway":"g:1","reset":{"at":"2026-11-21T18:58:52.123Z","#
            + #""code":"refused","mode":"discard","result":"a-later-word","why":"w"},"schema":1}"#
        #expect(try bench.hear(reset) == ["reset refused discard a-later-word g:1 d w nil"])
        let offline =
            #"{"app":"a","connection":"offline","connectionReason":"noRoute","event":"connection","schema":1}"#
        #expect(try bench.hear(offline) == ["reachability offline"])
    }

    @Test("the parameters of a Contact are those of RFC 8599")
    func contact() throws {
        let body =
            #"{"app":"com.example.phone","credentials":[{"environment":"production","token":"0a1b"},"#
            + #"{"environment":"moon","token":"ff"}],"schema":1,"#
            + #""teams":["TEAM1","TEAM2"],"topic":"com.example.phone.voip"}"#
        let credentials = try Registration.read(Array(body.utf8)).credentials
        #expect(credentials.map(\.token) == ["0a1b", "ff"])
        #expect(credentials.last?.environment.rawValue == "moon")
        let one = try #require(credentials.first)
        #expect(one.contactParameters == "pn-provider=apns;pn-param=TEAM1.com.example.phone.voip;pn-prid=0a1b")
        #expect(one.contactParameters(team: "TEAM2").contains("TEAM2.com.example.phone.voip"))
    }

    @Test("where senders push to is read with each token, and is unknown from a daemon that does not say it")
    func pushServer() throws {
        let pem = #"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"#
        let body =
            #"{"app":"a","credentials":[{"environment":"development","token":"aa"},"#
            + #"{"certificateAuthorities":"\#(pem)","environment":"production","host":"phone.example.org","#
            + #""port":2197,"token":"bb"},{"environment":"moon","host":"h","port":0,"token":"cc"}],"#
            + #""schema":1,"teams":[],"topic":"t"}"#
        let credentials = try Registration.read(Array(body.utf8)).credentials
        try #require(credentials.count == 3)
        #expect(credentials[0].host == nil && credentials[0].port == nil)
        #expect(credentials[0].certificateAuthorities == nil)
        #expect(credentials[1].host == "phone.example.org" && credentials[1].port == 2197)
        let expected = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
        #expect(credentials[1].certificateAuthorities == expected)
        #expect(credentials[2].host == "h" && credentials[2].port == nil)
        // The same token elsewhere is news for the app's server.
        let moved = PushCredentials(
            token: "bb", environment: .production, topic: "t", teams: [], host: "other", port: 2197,
            certificateAuthorities: expected)
        #expect(moved != credentials[1])
    }

    @Test("the vendor's identifier is a UUID, and nil from a daemon that has none or writes something else")
    func vendorIdentifier() throws {
        func read(_ member: String) throws -> String? {
            let body = #"{"app":"a","credentials":[],"schema":1,"teams":[],"topic":"t"\#(member)}"#
            return try Registration.read(Array(body.utf8)).vendorIdentifier?.uuidString.lowercased()
        }
        let id = "7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11"
        #expect(try read(#","vendorIdentifier":"\#(id)""#) == id)
        #expect(try read("") == nil)
        #expect(try read(#","vendorIdentifier":"x""#) == nil)
    }

    @Test("a target's segments cannot leave their place")
    func targets() {
        let target = RequestTarget("calls", "a/b c?", "ring", query: [("app", "x&y"), ("since", nil)])
        #expect(target.text == "/v1/calls/a%2Fb%20c%3F/ring?app=x%26y")
        #expect(RequestTarget("calls", "..").text == "/v1/calls/%2E.")
    }

    private let tooLong = RingwakeKitError(.badAnswer, "a line that is too long")

    @Test("lines are cut where they end, in whatever pieces they come")
    func lines() throws {
        var splitter = LineSplitter(maximumBytes: TransportLimits.lineBytes, tooLong: tooLong)
        var lines: [String] = []
        for byte in "ab\n\ncd\ne".utf8 {
            splitter.consume([byte])
            while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        #expect(lines == ["ab", "cd"])
        splitter.consume(Array("f\ngh\n".utf8))
        #expect(try splitter.next() == Array("ef".utf8))
        #expect(try splitter.next() == Array("gh".utf8))
        #expect(try splitter.next() == nil)
    }

    @Test("a line without an end is refused at its limit")
    func longLine() throws {
        var splitter = LineSplitter(maximumBytes: TransportLimits.lineBytes, tooLong: tooLong)
        let piece = [UInt8](repeating: 0x61, count: 1 << 18)
        for _ in 0..<4 { splitter.consume(piece) }
        #expect(try splitter.next() == nil)
        splitter.consume([0x61])
        #expect(throws: tooLong) { try splitter.next() }
    }

    @Test("a line with an end is refused beyond its limit all the same")
    func longLineWithEnd() {
        var splitter = LineSplitter(maximumBytes: TransportLimits.lineBytes, tooLong: tooLong)
        splitter.consume([UInt8](repeating: 0x61, count: (1 << 20) + 1) + [0x0A])
        #expect(throws: tooLong) { try splitter.next() }
    }
}
