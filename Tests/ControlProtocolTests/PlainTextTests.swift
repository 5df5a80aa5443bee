import ControlProtocol
import Foundation
import Testing

@Suite("Text that a terminal may be shown")
struct PlainTextTests {
    @Test(
        "What steers a terminal or cannot be seen is unsafe; what words and emoji are written with is not",
        arguments: [
            ("\u{1B}", true), ("\u{7F}", true), ("\u{9B}", true), ("\u{2028}", true), ("\u{202E}", true),
            ("\u{2066}", true), ("\u{200F}", true), ("\u{61C}", true), ("\u{200B}", true), ("\u{2060}", true),
            ("\u{FEFF}", true), ("a", false), ("é", false), ("\u{200D}", false), ("\u{200C}", false), ("😀", false),
        ] as [(Unicode.Scalar, Bool)])
    func scalars(scalar: Unicode.Scalar, isUnsafe: Bool) {
        #expect(scalar.isUnsafeToShow == isUnsafe)
    }

    @Test("JSON without such characters stays, over several lines too")
    func untouched() {
        for json in ["{\n  \"a\" : \"b\"\n}", #"{"a":"Grüße, 世界 😀 👩\u{200D}👩"}"#, ""] {
            #expect(PlainJSON.escaped(Array(json.utf8)) == Array(json.utf8))
        }
    }

    @Test("Such characters become escapes, and the JSON says the same")
    func escaped() throws {
        let text = "a\u{7F}b\u{9B}31mé\u{202E}c\u{2066}\u{200B}\u{FEFF}\u{200D}😀"
        let json = Array(try JSONEncoder().encode(["caller": text]))
        let escaped = PlainJSON.escaped(json)
        #expect(
            String(decoding: escaped, as: UTF8.self)
                == #"{"caller":"a\u007fb\u009b31mé\u202ec\u2066\u200b\ufeff"# + "\u{200D}😀\"}")
        #expect(try JSONDecoder().decode([String: String].self, from: Data(escaped)) == ["caller": text])
        #expect(PlainJSON.escaped(escaped) == escaped)
    }
}
