import RingwakeCore
import Testing

@Suite("What a payload says of its call, as far as its app maps it")
struct PayloadMappingTests {
    private static let arrival = BootInstant(nanoseconds: 5_000_000_000_000)
    /// 2026-11-21 19:00:00 UTC.
    private static let wallClock: Int64 = 1_795_287_600_000

    private func read(
        _ payload: String, _ mapping: PayloadMapping, wallClock: Int64 = PayloadMappingTests.wallClock
    ) throws -> (facts: PushFacts, problems: [PayloadProblem]) {
        try JSONSyntax.requireObject(Array(payload.utf8))
        return mapping.facts(in: Array(payload.utf8), receivedAt: Self.arrival, wallClock: wallClock)
    }

    private func preset(_ name: String) throws -> PayloadMapping { try #require(PayloadMapping.preset(name)) }

    private func ago(_ duration: Duration) -> BootInstant { Self.arrival.advanced(by: .zero - duration) }

    // MARK: - Presets

    @Test("Nothing mapped: nothing known")
    func unmapped() throws {
        let (facts, problems) = try read(#"{"call":"c","caller":"a","cancel":true}"#, PayloadMapping())
        #expect(facts == PushFacts() && problems.isEmpty)
    }

    @Test("flexisip's VoIP push, as its AppleRequest writes it")
    func flexisip() throws {
        let (facts, problems) = try read(
            """
            {
            \t"aps": {
            \t\t"sound": "",
            \t\t"loc-key": "IC_MSG",
            \t\t"loc-args": ["Alice"],
            \t\t"call-id": "TgRbSrEpmU",
            \t\t"uuid": "<urn:uuid:2f5e0b3c-7d3a-0057-8b1e-3c1a5e0b9c11>",
            \t\t"send-time": "2026-11-21 18:59:58"
            \t},
            \t"from-uri": "sip:alice@sip.example.org",
            \t"display-name": "Alice",
            \t"pn_ttl": 90,
            \t"customPayload": {}
            }
            """, preset("flexisip"))
        #expect(
            facts
                == PushFacts(
                    call: CallID("TgRbSrEpmU"),
                    update: CallUpdate(caller: "sip:alice@sip.example.org", callerName: "Alice"),
                    clockBehind: .seconds(2), ringTime: .seconds(90)))
        #expect(problems.isEmpty)
        let (hidden, none) = try read(
            #"{"aps":{"call-id":"c"},"from-uri":"","display-name":"","pn_ttl":0}"#, preset("flexisip"))
        #expect(hidden == PushFacts(call: CallID("c")) && none.isEmpty)
    }

    @Test("sygnal's push for an m.call.invite, and its event_id_only form")
    func sygnal() throws {
        let (facts, problems) = try read(
            #"{"room_id":"!r:example.org","event_id":"$qTOWWTEL48yPm3uT","aps":{"alert":{"#
                + #""loc-key":"VIDEO_CALL_FROM_USER","loc-args":["Major Tom"]},"badge":3}}"#, preset("sygnal"))
        #expect(
            facts
                == PushFacts(
                    call: CallID("$qTOWWTEL48yPm3uT"), update: CallUpdate(callerName: "Major Tom", hasVideo: true)))
        #expect(problems.isEmpty)
        let voice = try read(
            #"{"event_id":"$e","aps":{"alert":{"loc-key":"VOICE_CALL_FROM_USER","loc-args":[" "]}}}"#,
            preset("sygnal"))
        #expect(voice.facts == PushFacts(call: CallID("$e"), update: CallUpdate(hasVideo: false)))
        #expect(voice.problems.isEmpty)
        let eventOnly = try read(#"{"room_id":"!r:example.org","event_id":"$e","unread_count":1}"#, preset("sygnal"))
        #expect(eventOnly.facts == PushFacts(call: CallID("$e")) && eventOnly.problems.isEmpty)
    }

    @Test("Twilio's call and cancel pushes")
    func twilio() throws {
        func payload(_ type: String) -> String {
            #"{"twi_account_sid":"AC1","twi_bridge_token":"eyJr","twi_call_sid":"CA2","twi_from":"client:alice","#
                + #""twi_message_id":"WB3","twi_message_type":"\#(type)","twi_to":"client:bob"}"#
        }
        let call = try read(payload("twilio.voice.call"), preset("twilio"))
        #expect(call.facts == PushFacts(call: CallID("CA2"), update: CallUpdate(caller: "client:alice")))
        let cancel = try read(payload("twilio.voice.cancel"), preset("twilio"))
        #expect(cancel.facts.cancel == .cancelled && cancel.facts.call == CallID("CA2"))
        #expect(call.problems.isEmpty && cancel.problems.isEmpty)
    }

    @Test("Ringwake's own payload; whatever else is there does not matter")
    func ringwake() throws {
        let (facts, problems) = try read(
            #"{"aps":{},"ringwake":{"call":"c-1","caller":"sip:a@example.org","callerName":"A","video":true,"#
                + #""cancel":"answeredElsewhere","sentAt":1795287597.5,"age":2,"ringTime":30},"call":"other"}"#,
            preset("ringwake"))
        #expect(
            facts
                == PushFacts(
                    call: CallID("c-1"),
                    update: CallUpdate(caller: "sip:a@example.org", callerName: "A", hasVideo: true),
                    cancel: .answeredElsewhere, sentAt: ago(.seconds(2)), clockBehind: .milliseconds(500),
                    ringTime: .seconds(30)))
        #expect(problems.isEmpty)
    }

    @Test("Each name of a preset is one, and no other is")
    func names() {
        #expect(PayloadMapping.presetNames == ["flexisip", "ringwake", "sygnal", "twilio"])
        for name in PayloadMapping.presetNames {
            #expect(PayloadMapping.preset(name)?.call != nil)
        }
        #expect(PayloadMapping.preset("Flexisip") == nil && PayloadMapping.preset("") == nil)
    }

    // MARK: - Facts

    @Test(
        "A call id is a text or a number of 1 to 256 bytes without a zero byte",
        arguments: [
            (#""a\u0062c""#, "abc", nil), ("17", "17", nil), ("-0.50e1", "-0.50e1", nil), ("null", nil, nil),
            (#""""#, nil, .empty), (#""a\u0000b""#, nil, .zeroByte), ("true", nil, .wrongKind),
            ("{}", nil, .wrongKind), (#"["a"]"#, nil, .wrongKind),
            ("\"" + String(repeating: "é", count: 128) + "\"", String(repeating: "é", count: 128), nil),
            ("\"" + String(repeating: "é", count: 128) + "x\"", nil, .tooLong),
        ] as [(String, String?, PayloadProblem.Reason?)])
    func callIDs(value: String, id: String?, problem: PayloadProblem.Reason?) throws {
        let (facts, problems) = try read(#"{"ringwake":{"call":\#(value)}}"#, preset("ringwake"))
        #expect(facts == PushFacts(call: id.map { CallID($0) }))
        #expect(problems == (problem.map { [PayloadProblem(.call, $0)] } ?? []))
    }

    @Test(
        "Caller and name are cut at 256 bytes where a character ends; blank ones are unknown",
        arguments: [
            ("tel", "tel"), ("", nil), (" \\t\\u00a0", nil), ("\\ud83d\\ude00", "😀"),
            (String(repeating: "a", count: 300), String(repeating: "a", count: 256)),
            (String(repeating: "a", count: 255) + "é", String(repeating: "a", count: 255)),
            (String(repeating: "a", count: 252) + "😀", String(repeating: "a", count: 252) + "😀"),
            // A family of eleven bytes a person is one character: it goes as a whole.
            (String(repeating: "a", count: 240) + "👨‍👩‍👧", String(repeating: "a", count: 240)),
            // One character longer than the limit is cut between its code points.
            ("e" + String(repeating: "\u{301}", count: 200), "e" + String(repeating: "\u{301}", count: 127)),
        ] as [(String, String?)])
    func callers(text: String, kept: String?) throws {
        let (facts, problems) = try read(
            #"{"ringwake":{"caller":"\#(text)","callerName":"\#(text)"}}"#, preset("ringwake"))
        // Compared as bytes: texts of different code points can be equal.
        #expect(facts.update.caller.map { Array($0.utf8) } == kept.map { Array($0.utf8) })
        #expect(facts.update.callerName == kept && problems.isEmpty)
        #expect((facts.update.caller?.utf8.count ?? 0) <= CallUpdate.maximumTextBytes)
    }

    @Test("A number is a caller; an object is not, nor is a text with a zero byte")
    func odderCallers() throws {
        let (facts, problems) = try read(
            #"{"ringwake":{"caller":4930123456,"callerName":{"first":"A"}}}"#, preset("ringwake"))
        #expect(facts.update == CallUpdate(caller: "4930123456"))
        #expect(problems == [PayloadProblem(.callerName, .wrongKind)])
        #expect(problems.first?.description == "caller_name is not of a kind that can say it")
        let zero = try read(#"{"ringwake":{"caller":"a\u0000"}}"#, preset("ringwake"))
        #expect(zero.facts == PushFacts() && zero.problems == [PayloadProblem(.caller, .zeroByte)])
    }

    @Test(
        "Video is true, or a word that says so",
        arguments: [
            ("true", true), ("false", false), ("1", true), ("0", false), (#""TRUE""#, true), (#""video""#, true),
            (#""yes""#, true), (#""audio""#, false), (#""voice""#, false), (#""no""#, false), (#""""#, false),
            ("1.0", true), ("10e-1", true), ("0.0", false), ("-0", false), (#""none""#, false), (#"" ""#, false),
            ("2", nil), (#""maybe""#, nil), (#"["video"]"#, nil), ("{}", nil),
        ] as [(String, Bool?)])
    func video(value: String, says: Bool?) throws {
        let (facts, problems) = try read(#"{"ringwake":{"video":\#(value)}}"#, preset("ringwake"))
        #expect(facts.update.hasVideo == says)
        #expect(problems == (says == nil ? [PayloadProblem(.video, .wrongKind)] : []))
    }

    @Test(
        "A cancel is true, 1, or any text that does not say no; two texts are reasons",
        arguments: [
            ("true", .cancelled), (#""true""#, .cancelled), ("1", .cancelled), ("-3", .cancelled),
            (#""hangup""#, .cancelled), (#""answeredElsewhere""#, .answeredElsewhere),
            (#""declinedElsewhere""#, .declinedElsewhere), (#""cancelled""#, .cancelled),
            // A reason that no push may give is a cancel like any other.
            (#""localEnded""#, .cancelled), (#""handlerFailed""#, .cancelled),
            ("false", nil), ("0", nil), ("null", nil), (#""""#, nil), (#""false""#, nil), (#""False""#, nil),
            (#""0""#, nil), ("0.5", .cancelled), (#""nobody""#, .cancelled),
            // By value, not as it is written.
            ("0.0", nil), ("-0", nil), ("0e5", nil), (#""0.0""#, nil), (#""no""#, nil), (#""No""#, nil),
            (#""none""#, nil), (#"" ""#, nil),
        ] as [(String, CallEndReason?)])
    func cancels(value: String, reason: CallEndReason?) throws {
        let (facts, problems) = try read(#"{"ringwake":{"cancel":\#(value)}}"#, preset("ringwake"))
        #expect(facts.cancel == reason && problems.isEmpty)
    }

    @Test("A container takes no call back")
    func containerCancel() throws {
        for value in ["{}", "[true]"] {
            let (facts, problems) = try read(#"{"ringwake":{"cancel":\#(value)}}"#, preset("ringwake"))
            #expect(facts.cancel == nil && problems == [PayloadProblem(.cancel, .wrongKind)])
        }
    }

    @Test("Where values are given, only they count, as they are written")
    func values() throws {
        var mapping = PayloadMapping()
        mapping.cancel = .init(
            at: try JSONPointer("/type"),
            values: ["m.call.hangup": .cancelled, "m.call.answer": .answeredElsewhere, "7": .declinedElsewhere])
        mapping.video = .init(at: try JSONPointer("/kind"), values: ["V", "true"])
        #expect(try read(#"{"type":"m.call.hangup"}"#, mapping).facts.cancel == .cancelled)
        #expect(try read(#"{"type":"m.call.answer"}"#, mapping).facts.cancel == .answeredElsewhere)
        #expect(try read(#"{"type":7}"#, mapping).facts.cancel == .declinedElsewhere)
        #expect(try read(#"{"type":"m.call.invite"}"#, mapping).facts.cancel == nil)
        #expect(try read(#"{"type":true}"#, mapping).facts.cancel == nil)
        #expect(try read(#"{"kind":"V"}"#, mapping).facts.update.hasVideo == true)
        #expect(try read(#"{"kind":true}"#, mapping).facts.update.hasVideo == true)
        #expect(try read(#"{"kind":"v"}"#, mapping).facts.update.hasVideo == false)
        #expect(try read(#"{"kind":null}"#, mapping).facts.update.hasVideo == nil)
        #expect(try read(#"{"kind":"v"}"#, mapping).problems.isEmpty)
    }

    // MARK: - Times

    @Test(
        "The sending time measures the sender's clock, and makes no call older",
        arguments: [
            ("1795287590", .seconds(10)), ("1795287590000", .seconds(10)), (#""1795287590""#, .seconds(10)),
            ("1795287599.75", .milliseconds(250)), (#""2026-11-21T18:59:50Z""#, .seconds(10)),
            (#""2026-11-21T19:59:50+01:00""#, .seconds(10)), (#""2026-11-21 18:59:50""#, .seconds(10)),
            ("1795287600", .zero), ("1795287601", .seconds(-1)),
            ("253402300799999", .milliseconds(-251_607_013_199_999)),
            ("1", .milliseconds(1_795_287_599_000)),
        ] as [(String, Duration)])
    func sendingTimes(value: String, behind: Duration) throws {
        let (facts, problems) = try read(#"{"ringwake":{"sentAt":\#(value)}}"#, preset("ringwake"))
        #expect(facts == PushFacts(clockBehind: behind) && problems.isEmpty)
    }

    @Test("What is no date is a problem", arguments: [#""soon""#, "0", "-5", "1e999", #""""#])
    func noSendingTimes(value: String) throws {
        let (facts, problems) = try read(#"{"ringwake":{"sentAt":\#(value)}}"#, preset("ringwake"))
        #expect(facts == PushFacts() && problems == [PayloadProblem(.sentAt, .notATime)])
    }

    @Test("A wall clock that is out of its mind traps nothing", arguments: [Int64.min, -1, 0, .max])
    func wildWallClocks(wallClock: Int64) throws {
        let (facts, _) = try read(#"{"ringwake":{"sentAt":1795287590}}"#, preset("ringwake"), wallClock: wallClock)
        #expect(facts.sentAt == nil && (wallClock > .min || facts.clockBehind == nil))
    }

    @Test(
        "The age is counted back from the arrival, and taken off the difference of the clocks",
        arguments: [
            ("0", .zero), ("10", .seconds(10)), (#""2.5""#, .milliseconds(2500)), ("86401", .seconds(86400)),
            ("1e300", .seconds(86400)),
        ] as [(String, Duration)])
    func ages(value: String, age: Duration) throws {
        let (facts, problems) = try read(
            #"{"ringwake":{"age":\#(value),"sentAt":1795287590}}"#, preset("ringwake"))
        #expect(facts == PushFacts(sentAt: ago(age), clockBehind: .seconds(10) - age) && problems.isEmpty)
    }

    @Test(
        "A ring time is brought within a second and five minutes; 0 asks for none",
        arguments: [
            ("30", .seconds(30)), ("30.5", .milliseconds(30_500)), (#""30""#, .seconds(30)), ("0.2", .seconds(1)),
            ("1", .seconds(1)), ("299.9", .milliseconds(299_900)), ("300", .seconds(300)), ("301", .seconds(300)),
            ("2592000", .seconds(300)), ("1e300", .seconds(300)), ("0", nil), ("0.0", nil), ("null", nil),
        ] as [(String, Duration?)])
    func ringTimes(value: String, time: Duration?) throws {
        let (facts, problems) = try read(#"{"ringwake":{"ringTime":\#(value)}}"#, preset("ringwake"))
        #expect(facts == PushFacts(ringTime: time) && problems.isEmpty)
    }

    @Test("What is no ring time is a problem", arguments: ["-1", #""long""#, #""30s""#, #""""#, "1e999"])
    func noRingTimes(value: String) throws {
        let (facts, problems) = try read(#"{"ringwake":{"ringTime":\#(value)}}"#, preset("ringwake"))
        #expect(facts == PushFacts() && problems == [PayloadProblem(.ringTime, .notADuration)])
    }

    @Test("An unusable fact spoils no other, and each is told by its name in the app's file")
    func severalProblems() throws {
        let (facts, problems) = try read(
            #"{"ringwake":{"call":[],"caller":"a","callerName":false,"video":{},"cancel":[],"sentAt":true,"#
                + #""age":-1,"ringTime":"x"}}"#, preset("ringwake"))
        #expect(facts == PushFacts(update: CallUpdate(caller: "a")))
        #expect(
            problems.map { $0.fact.rawValue }
                == ["call", "caller_name", "video", "cancel", "sent_at", "age", "ring_time"])
        #expect(!problems.contains { $0.description.isEmpty })
    }

    @Test("Of a name that is there twice the last one counts")
    func duplicates() throws {
        let (facts, _) = try read(
            #"{"ringwake":{"call":"first","cancel":true},"ringwake":{"call":"second"}}"#, preset("ringwake"))
        #expect(facts == PushFacts(call: CallID("second")))
    }
}
