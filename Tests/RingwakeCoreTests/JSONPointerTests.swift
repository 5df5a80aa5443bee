import Testing

@testable import RingwakeCore

@Suite("JSON Pointers, RFC 6901")
struct JSONPointerTests {
    @Test(
        "Section 5's examples lead where the RFC says",
        arguments: [
            ("/foo", #"["bar", "baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
        ])
    func examplesOfTheRFC(pointer: String, value: String) throws {
        let document = #"""
            { "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7,
              "m~n": 8 }
            """#
        #expect(try find(pointer, in: document) == value)
        #expect(try find("", in: document) == document)
    }

    @Test(
        "What is not there is not found",
        arguments: [
            "/x", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/ 1", "/foo/0/0", "/foo/", "//",
            "/foo/99999999999999999999999999", "/FOO", "/foo/bar",
        ])
    func absent(pointer: String) throws {
        #expect(try find(pointer, in: #"{"foo":["bar","baz"],"":0}"#) == nil)
    }

    @Test("Digits name a member of an object, and an element of an array")
    func digits() throws {
        let document = #"{"o":{"0":"zero","01":"one","-":"minus"},"a":["first",["in"]]}"#
        #expect(try find("/o/0", in: document) == #""zero""#)
        #expect(try find("/o/01", in: document) == #""one""#)
        #expect(try find("/o/-", in: document) == #""minus""#)
        #expect(try find("/a/1/0", in: document) == #""in""#)
    }

    @Test("~01 is ~1 and not /, as section 4 warns")
    func orderOfEscapes() throws {
        #expect(try JSONPointer("/~01").tokens == [Array("~1".utf8)])
        #expect(try JSONPointer("/~1~0/a~0~1").tokens == [Array("/~".utf8), Array("a~/".utf8)])
        #expect(JSONPointer(through: "a~/b", "~1").description == "/a~0~1b/~01")
        #expect(try JSONPointer(JSONPointer(through: "a~/b", "", "~1").description).tokens.count == 3)
    }

    @Test("A text that is no pointer is refused with the reason")
    func defects() {
        func defect(_ text: String) -> JSONPointer.Defect? {
            do throws(JSONPointer.Defect) {
                _ = try JSONPointer(text)
                return nil
            } catch {
                return error
            }
        }
        #expect(defect("a") == .notRooted)
        #expect(defect("#/a") == .notRooted)
        #expect(defect(" /a") == .notRooted)
        for text in ["/~", "/~2", "/a~/b", "/~~0", "/a~"] {
            #expect(defect(text) == .badEscape)
        }
        #expect(defect("/" + String(repeating: "a", count: 511)) == nil)
        #expect(defect("/" + String(repeating: "a", count: 512)) == .tooLong)
        #expect(defect(String(repeating: "/", count: 64)) == nil)
        #expect(defect(String(repeating: "/", count: 65)) == .tooLong)
    }

    @Test("A member's name is compared with its escapes undone")
    func escapedNames() throws {
        let document = #"{"\u0063\u0061ll":1,"\ud83d\ude00":2,"a\/b":3,"\u0000":4,"call\u0020":5}"#
        #expect(try find("/call", in: document) == "1")
        #expect(try find("/😀", in: document) == "2")
        #expect(try find("/a~1b", in: document) == "3")
        #expect(try find("/\0", in: document) == "4")
        #expect(try find("/call ", in: document) == "5")
        #expect(try find("/cal", in: document) == nil)
        #expect(try find("/calls", in: document) == nil)
    }

    @Test("Of two members of one name the last one counts, also on the way")
    func duplicates() throws {
        #expect(try find("/a", in: #"{"a":1,"b":0,"a":2}"#) == "2")
        #expect(try find("/a/b", in: #"{"a":{"b":1},"a":{"b":2}}"#) == "2")
        #expect(try find("/a/b", in: #"{"a":{"b":1},"a":{"c":2}}"#) == nil)
        #expect(try find("/a/b", in: #"{"a":{"b":1},"a":3}"#) == nil)
        #expect(try find("/a/b", in: #"{"a":{"b":1},"\u0061":[]}"#) == nil)
        #expect(try find("/a/0", in: #"{"a":{"0":1},"a":[2]}"#) == "2")
    }

    private func find(_ pointer: String, in document: String) throws -> String? {
        let bytes = Array(document.utf8)
        try JSONSyntax.requireObject(bytes)
        let found = PayloadScanner.find([try JSONPointer(pointer)], in: bytes)
        return try #require(found.first).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}
