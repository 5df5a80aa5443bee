import RingwakeCore
import Testing

@Suite("Patterns of callers")
struct CallerPatternTests {
    @Test(
        "A pattern's text is stable, and reads back as the same pattern",
        arguments: [
            ("+49 89 123456", "+4989123456"), ("tel:+49-89-123456", "+4989123456"), ("089/123456", "089123456"),
            ("SIP:Alice@Example.org;transport=tcp", "alice@example.org"), ("+49 900*", "+49900*"), ("0900*", "0900*"),
            ("tel:+49900*", "+49900*"), ("*@Spam.Example.", "*@spam.example"),
            ("*@spam.example:5060", "*@spam.example"),
            ("Anonymous", "anonymous"), ("sip:anonymous@anonymous.invalid", "anonymous"), (" 110 ", "110"),
            ("@alice:matrix.example", "@alice:matrix.example"), ("00*", "00*"),
        ])
    func text(written: String, stable: String) throws {
        let pattern = try CallerPattern(written)
        #expect(pattern.description == stable)
        #expect(try CallerPattern(stable) == pattern)
    }

    @Test(
        "What is no pattern is refused with the reason",
        arguments: [
            ("", "is blank"), ("  ", "is blank"), ("*", "every caller"), ("tel:*", "every caller"),
            ("alice*", "no number before"), ("sip:+49*", "no number before"), ("+49*1", "in a place"),
            ("a*@spam.example", "in a place"), ("*@", "no host"), ("*@*.example", "no host"),
            ("+1234567890123456*", "more than 15 digits"), ("a\tb", "control character"),
            ("sip:a%40b@example.org", "escaped characters"), ("sip:a%0Ab@example.org", "escaped characters"),
            (String(repeating: "a", count: 257), "longer than 256"), ("**", "no number before"),
        ])
    func refused(written: String, why: String) {
        let error = #expect(throws: RingwakeError.self) { try CallerPattern(written) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(why) == true, "\(error?.message ?? "")")
    }

    @Test("A pattern is about the callers that it says")
    func matches() throws {
        let number = CallerHandle("sip:+4990012345@spam.example")
        #expect(try CallerPattern("+49 900 12345").matches(number))
        #expect(try CallerPattern("+49900*").matches(number))
        #expect(try CallerPattern("*@spam.example").matches(number))
        #expect(try !CallerPattern("+49901*").matches(number))
        #expect(try !CallerPattern("49900*").matches(number))
        #expect(try !CallerPattern("*@sub.spam.example").matches(number))
        #expect(try !CallerPattern("anonymous").matches(number))
        #expect(try CallerPattern("anonymous").matches(.anonymous))
        #expect(try !CallerPattern("+49900*").matches(CallerHandle("+49900x@a.example")))
        #expect(try CallerPattern("+49900*").matches(CallerHandle("+49900123456789012345")))
    }

    @Test("National numbers of a list become E.164 by the rules of the device")
    func rules() throws {
        let germany = try DiallingRules(countryCode: "49", trunkPrefix: "0")
        let spain = try DiallingRules(countryCode: "34")
        let america = try DiallingRules(countryCode: "1", trunkPrefix: "1")
        for (written, rules, expected) in [
            ("089 123456", germany, "+4989123456"), ("0900*", germany, "+49900*"), ("0049900*", germany, "+49900*"),
            ("118*", germany, "118*"), ("803*", spain, "+34803*"), ("900*", america, "+1900*"),
            ("1900*", america, "+1900*"), ("+1900*", germany, "+1900*"),
            ("alice@example.org", germany, "alice@example.org"),
        ] {
            #expect(try CallerPattern(written).applying(rules).description == expected)
            #expect(try CallerPattern(written, rules: rules).description == expected)
        }
    }

    @Test("Labels are cleaned and bounded")
    func labels() throws {
        let pattern = try CallerPattern("+49*")
        #expect(CallerEntry(pattern: pattern, label: " A\tB\n").label == "A B")
        #expect(CallerEntry(pattern: pattern, label: " \u{0} ").label == nil)
        #expect(CallerEntry(pattern: pattern, label: "").label == nil)
        #expect(CallerEntry(pattern: pattern, label: String(repeating: "x", count: 1_000)).label?.utf8.count == 256)
    }
}
