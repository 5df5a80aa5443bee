import RingwakeCore
import Testing

@Suite("Callers, however they are written")
struct CallerHandleTests {
    let germany: DiallingRules
    let america: DiallingRules
    let spain: DiallingRules

    init() throws {
        germany = try DiallingRules(countryCode: "49", trunkPrefix: "0")
        america = try DiallingRules(countryCode: "1", trunkPrefix: "1")
        spain = try DiallingRules(countryCode: "34")
    }

    @Test(
        "One number in many spellings is one caller",
        arguments: [
            "+4989123456", "+49 89 123456", "+49 (0)89 / 123-456", "0049 89 123456", "089 123456", "(089) 12 34 56",
            "(0)89 123456",
            "tel:+49-89-123456", "TEL:+49.89.123456;ext=12", "tel:089123456;phone-context=+49",
            "sip:+4989123456@example.org", "sips:+4989123456:secret@example.org:5061;transport=tcp?subject=x",
            "sip:089123456@example.org;user=phone", "sip:%2B4989123456@example.org", "SIP:0049-89-123456@10.0.0.1",
            "\"Alice <a>\" <sip:+4989123456@example.org;user=phone>;tag=1", "Alice <tel:+4989123456>",
            "<sip:+4989123456;npdi;rn=+49@example.org;user=phone>", "+49\u{00A0}89\u{2011}123456",
            "\u{202A}+49 89 123456\u{202C}", "  +4989123456  ", "+4989123456@example.org",
            "\u{3000}tel:+4989123456\u{2028}",
        ])
    func oneNumber(text: String) {
        let caller = CallerHandle(text, rules: germany)
        #expect(caller.text == "+4989123456")
        #expect(caller.kind == .number)
        #expect(caller == CallerHandle("+4989123456"))
        #expect(caller.hashValue == CallerHandle("+4989123456").hashValue)
    }

    @Test(
        "One address in many spellings is one caller",
        arguments: [
            "alice@example.org", "sip:alice@example.org", "SIP:Alice@Example.ORG.", "sips:alice@example.org:5061",
            "sip:alice:pw@example.org;transport=tls", "<sip:alice@example.org>", "\"A\\\"<x>\" <sip:alice@example.org>",
            "sip:%61lice@example.org?Call-Info=x@y", "\u{A0}Alice <sip:alice@example.org>", "alice@example.org\u{85}",
            "\u{2003}sip:alice@example.org",
        ])
    func oneAddress(text: String) {
        let caller = CallerHandle(text, rules: germany)
        #expect(caller.text == "alice@example.org")
        #expect(caller.kind == .address)
        #expect(caller.domain == "example.org")
    }

    @Test(
        "Who does not say who it is, is anonymous",
        arguments: [
            nil, "", "   ", "<>", "anonymous", "Anonymous", "sip:anonymous@anonymous.invalid", "unknown", "Private",
            "\"Anonymous\" <sip:anonymous@anonymous.invalid>;tag=9", "sip:c8oqz84@anonymous.invalid",
            "sip:Anonymous@provider.example", "tel:", "sip:", "sip:@", "sip:unknown",
        ] as [String?])
    func anonymous(text: String?) {
        let caller = CallerHandle(text)
        if text == "sip:unknown" {
            // A host of that name.
            #expect(caller.kind == .address)
        } else {
            #expect(caller == .anonymous)
        }
    }

    @Test("Numbers of one's own country are turned into E.164, and others are not")
    func national() {
        #expect(CallerHandle("4155551234", rules: america).text == "+14155551234")
        #expect(CallerHandle("1 (415) 555-1234", rules: america).text == "+14155551234")
        #expect(CallerHandle("011 49 89 123456", rules: america).text == "+4989123456")
        #expect(CallerHandle("00 49 89 123456", rules: america).text == "+4989123456")
        #expect(CallerHandle("911 23 45 67", rules: spain).text == "+34911234567")
        #expect(CallerHandle("34911234567", rules: spain).text == "+34911234567")
        #expect(CallerHandle("14155551234", rules: germany).text == "+14155551234")
        #expect(CallerHandle("110", rules: germany).text == "110")
        #expect(CallerHandle("123456", rules: spain).text == "123456")
        #expect(CallerHandle("089 123456").text == "089123456")
        #expect(CallerHandle("00").text == "00")
        #expect(CallerHandle("000123456789").text == "000123456789")
    }

    @Test("An extension means something at its own host only; a long number is the same everywhere")
    func extensions() {
        #expect(CallerHandle("sip:1001@pbx.example").text == "1001@pbx.example")
        #expect(CallerHandle("sip:1001@pbx.example") != CallerHandle("sip:1001@other.example"))
        #expect(CallerHandle("tel:1001;phone-context=pbx.example") == CallerHandle("sip:1001@pbx.example"))
        #expect(CallerHandle("1001").kind == .number)
        #expect(CallerHandle("sip:089123456@a.example") == CallerHandle("sip:089123456@b.example"))
        #expect(CallerHandle("sip:089123456@a.example").domain == "a.example")
        #expect(CallerHandle("sip:1001@pbx.example;user=phone").text == "1001")
    }

    @Test("Handles of other kinds stay what they are, in lower case")
    func handles() {
        #expect(CallerHandle("@Alice:matrix.example").text == "@alice:matrix.example")
        #expect(CallerHandle("@alice:matrix.example").domain == nil)
        #expect(CallerHandle("John Smith").text == "john smith")
        #expect(CallerHandle("sip:[2001:DB8::1]:5060").text == "[2001:db8::1]")
        #expect(CallerHandle("sip:bob@[2001:db8::1]").text == "bob@[2001:db8::1]")
        #expect(CallerHandle("+1-800-FLOWERS").kind == .address)
        #expect(CallerHandle("++49").kind == .address)
        #expect(CallerHandle("+").kind == .address)
    }

    @Test("Whatever a stranger sends, its caller is bounded and reads back as itself when it is plain")
    func strangers() {
        var random = SplitMix(state: 7)
        let alphabet = Array("sipSIPtel:@;<>\"\\%2Bb+0049()[]. -/?=,*\u{0}\u{A0}é\u{FEFF}x".unicodeScalars)
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...24, using: &random) {
                text.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            let caller = CallerHandle(String(text), rules: germany)
            #expect(caller.text.utf8.count <= CallerHandle.maximumBytes)
            if caller.kind == .number {
                #expect(CallerHandle(caller.text) == caller, "\(text)")
                #expect(CallerHandle(caller.text, rules: germany) == caller, "\(text)")
            }
        }
        #expect(CallerHandle(String(repeating: "a", count: 100_000)).text.utf8.count == 256)
        #expect(CallerHandle("sip:" + String(repeating: "é", count: 5_000)).text.utf8.count <= 256)
        #expect(CallerHandle(String(repeating: "9", count: 5_000)).kind == .number)
        #expect(CallerHandle("\"" + String(repeating: "\\", count: 3_000)).kind == .address)
    }

    @Test(
        "Rules that make no sense are refused",
        arguments: [("049", "0"), ("", "0"), ("4999", nil), ("+49", nil), (nil, "0"), ("49", ""), ("49", "x")]
            as [(String?, String?)])
    func badRules(country: String?, trunk: String?) {
        #expect(throws: RingwakeError.self) { try DiallingRules(countryCode: country, trunkPrefix: trunk) }
    }
}

/// A generator that gives the same numbers in each run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
