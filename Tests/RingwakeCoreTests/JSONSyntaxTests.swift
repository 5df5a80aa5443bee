import RingwakeCore
import Testing

@Suite("The strict check of RFC 8259's grammar")
struct JSONSyntaxTests {
    private func defect(_ bytes: [UInt8]) -> JSONSyntax.Defect? {
        do {
            try JSONSyntax.requireObject(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "One object of any legal content is accepted",
        arguments: [
            "{}", " \t\r\n{ } \n", #"{"a":1}"#, #"{"a":{"b":[1,2,{"c":null}],"d":[]},"e":{}}"#,
            #"{"n":[0,-0,1.5,-1e999,1E+3,2e-3,123456789012345678901234567890]}"#,
            #"{"s":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀"}"#, #"{"a":1,"a":2}"#, #"{"t":true,"f":false}"#,
            #"{"":""}"#, "{\"del\":\"\u{7f}\"}",
        ])
    func accepted(text: String) {
        #expect(defect(Array(text.utf8)) == nil)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "[]", "1", "\"a\"", "null", #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":1}}"#,
            #"{"a":1}{"#, #"{"a":1} x"#, "{", "{\"", #"{"a"#, #"{"a":"#, #"{"a":[1"#, #"{"a":[1,]}"#, #"{"a":[,1]}"#,
            #"{"a":01}"#, #"{"a":+1}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":NaN}"#,
            #"{"a":Infinity}"#, #"{"a":tru}"#, #"{"a":"\q"}"#, #"{"a":"\u12g4"}"#, #"{"a":"\u+123"}"#,
            #"{"a":"\ud800"}"#,
            #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#, "{\"a\":\"\u{1}\"}", "{\"a\":\"\n\"}", "\u{feff}{}", "{]",
            #"{"a":[}"#, #"{"a":1/**/}"#, "{\u{a0}}", #"{"a":1"b":2}"#,
        ])
    func refused(text: String) {
        #expect(defect(Array(text.utf8)) != nil)
    }

    @Test("Nothing, white space and other values have their own names")
    func defects() {
        #expect(defect([]) == .empty)
        #expect(defect(Array(" \n".utf8)) == .empty)
        #expect(defect(Array("[1]".utf8)) == .notAnObject)
        #expect(defect(Array(#"{"a":1,}"#.utf8)) == .unexpected(offset: 7))
    }

    @Test(
        "Half a surrogate pair is named, and where it begins; a broken escape after a half is no escape",
        arguments: [
            (#"{"a":"\ud800"}"#, .loneSurrogate(offset: 6)), (#"{"a":"x\udfff"}"#, .loneSurrogate(offset: 7)),
            (#"{"a":"\ud800\u0041"}"#, .loneSurrogate(offset: 6)), (#"{"a":"\udbff\n"}"#, .loneSurrogate(offset: 6)),
            (#"{"a":"\ud800"#, .loneSurrogate(offset: 6)), (#"{"a":"\ud800\"#, .loneSurrogate(offset: 6)),
            (#"{"a":"\ud800\udc0g"}"#, .unexpected(offset: 17)), (#"{"a":"\ud8"#, .unexpected(offset: 10)),
        ] as [(String, JSONSyntax.Defect)])
    func surrogates(text: String, expected: JSONSyntax.Defect) {
        #expect(defect(Array(text.utf8)) == expected)
    }

    @Test("Each defect names its rule, and the place where it is broken")
    func descriptions() {
        #expect("\(JSONSyntax.Defect.tooDeep(offset: 7))".contains("deeper than 64 objects and arrays at byte 7"))
        #expect("\(JSONSyntax.Defect.loneSurrogate(offset: 7))".contains("byte 7 is half a surrogate pair"))
        #expect("\(JSONSyntax.Defect.notUTF8(offset: 7))" == "byte 7 is not UTF-8")
        #expect("\(JSONSyntax.Defect.unexpected(offset: 7))".contains("stands at byte 7"))
        #expect("\(JSONSyntax.Defect.empty)" == "it is empty")
    }

    @Test(
        "Bytes that are not UTF-8 are refused: overlong forms, surrogates, beyond U+10FFFF, cut off",
        arguments: [
            [0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0xC3], [0xE2, 0x28, 0xA1],
        ] as [[UInt8]])
    func invalidUTF8(sequence: [UInt8]) {
        #expect(defect(Array("{\"a\":\"".utf8) + sequence + Array("\"}".utf8)) != nil)
        #expect(defect(Array("{\"a\":\"".utf8) + sequence) != nil)
    }

    @Test("64 levels are accepted, 65 are not, and a million cost no stack")
    func depth() {
        func nested(_ depth: Int) -> [UInt8] {
            Array("{\"a\":".utf8) + Array(repeating: UInt8(ascii: "["), count: depth - 1)
                + Array(repeating: UInt8(ascii: "]"), count: depth - 1) + Array("}".utf8)
        }
        #expect(defect(nested(64)) == nil)
        #expect(defect(nested(65)) == .tooDeep(offset: 5 + 63))
        #expect(defect(nested(1_000_000)) == .tooDeep(offset: 5 + 63))
    }

    @Test("No mutation of a valid text makes the check trap")
    func mutations() {
        var random = RandomOrderTests.Generator(state: 7)
        let valid = Array(#"{"a":{"b":[1,-2.5e3,{"c":null}],"d":"\ud83d\ude00é"},"e":[true,false]}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = defect(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
        }
    }
}
