import RunLoop
import Testing

@testable import HandlerActivation

@Suite struct LineTests {
    private func split(_ chunks: [String], flushing: Bool = true) -> [String] {
        var splitter = LineSplitter()
        var lines: [String] = []
        let take = { (line: LineSplitter.Line) in
            lines.append(String(decoding: line.bytes, as: UTF8.self) + (line.isCut ? "~" : ""))
            return true
        }
        for chunk in chunks {
            let refused = Array(chunk.utf8).withUnsafeBytes { splitter.consume($0, take) }
            #expect(refused == 0)
        }
        if flushing {
            let isTaken = splitter.flush(isCut: false, take)
            #expect(isTaken)
        }
        return lines
    }

    @Test("Lines are the same however the bytes are cut into reads")
    func chunks() {
        let text = "one\n\ntwo\r\nthree"
        #expect(split([text]) == ["one", "", "two", "three"])
        #expect(split(text.unicodeScalars.map { String($0) }) == ["one", "", "two", "three"])
        #expect(split(["a\n", "b"], flushing: false) == ["a"])
        #expect(split([]) == [])
    }

    @Test("A line over the limit is cut once with a mark, and the next one is whole")
    func longLine() {
        let exact = String(repeating: "x", count: LineSplitter.maximumLineBytes)
        #expect(split([exact + "\nnext\n"]) == [exact, "next"])
        #expect(split([exact + "y\nnext\n"]) == [exact + "~", "next"])
        let pieces = Array(repeating: String(repeating: "x", count: 1_000), count: 100)
        #expect(split(pieces + ["\nnext\n"]) == [exact + "~", "next"])
        #expect(split(pieces) == [exact + "~"])
    }

    @Test("After a gap the begun line is marked as cut and the broken one is dropped")
    func gap() {
        var splitter = LineSplitter()
        var lines: [String] = []
        let take = { (line: LineSplitter.Line) in
            lines.append(String(decoding: line.bytes, as: UTF8.self) + (line.isCut ? "~" : ""))
            return true
        }
        _ = Array("begun".utf8).withUnsafeBytes { splitter.consume($0, take) }
        _ = splitter.flush(isCut: true, take)
        _ = Array("oken\nwhole\n".utf8).withUnsafeBytes { splitter.consume($0, take) }
        #expect(lines == ["begun~", "whole"])
    }

    @Test("Lines from the first that is not taken on are counted, each once, however the bytes are cut into reads")
    func refusedLines() {
        for size in [1, 2, 3, 1_000] {
            var splitter = LineSplitter()
            var lines: [String] = []
            var refused = 0
            let text = Array("1\n22\n333\n4444\n\n\n7\n".utf8)
            for start in stride(from: 0, to: text.count, by: size) {
                text[start..<min(start + size, text.count)].withUnsafeBytes { bytes in
                    refused += splitter.consume(bytes) { line in
                        guard lines.count < 2 else { return false }
                        lines.append(String(decoding: line.bytes, as: UTF8.self))
                        return true
                    }
                }
            }
            #expect(lines == ["1", "22"])
            #expect(refused == 5)
        }
        var splitter = LineSplitter()
        let passed = Array("a\nb\nc".utf8).withUnsafeBytes { splitter.pass($0[...]) }
        #expect(passed == 3)
        var lines: [LineSplitter.Line] = []
        _ = Array("rest of c\nd\n".utf8).withUnsafeBytes { bytes in
            splitter.consume(bytes) { line in
                lines.append(line)
                return true
            }
        }
        #expect(lines == [.init(bytes: Array("d".utf8), isCut: false)])
    }

    @Test("A burst is logged, then a second's worth in each second, with the bucket shut in between")
    func budget() {
        let start = BootClock.Instant(nanoseconds: 5_000_000_000)
        var budget = LineBudget(at: start)
        func admitted(of lines: Int, at milliseconds: Int) -> Int {
            (0..<lines).count { _ in budget.admitsLine(at: start.advanced(by: .milliseconds(milliseconds))) }
        }
        #expect(admitted(of: 1_000, at: 0) == 200)
        #expect(admitted(of: 1_000, at: 500) == 0)
        #expect(admitted(of: 1_000, at: 999) == 0)
        #expect(admitted(of: 1_000, at: 1_000) == 50)
        #expect(admitted(of: 1_000, at: 1_500) == 0)
        #expect(admitted(of: 10, at: 60_000) == 10)
        #expect(admitted(of: 1_000, at: 60_000) == 190)
        #expect(admitted(of: 1, at: 0) == 0, "a clock that stands still or goes back gives nothing")
    }

    @Test(
        "What could hurt a log or a terminal is shown, not sent",
        arguments: [
            ("plain, with\ttab", "plain, with\ttab"), ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"), ("a\rb", "a\\u{d}b"),
            ("\u{202e}evil\u{2028}", "\\u{202e}evil\\u{2028}"), ("\u{9b}31m", "\\u{9b}31m"), ("ä😀", "ä😀"),
        ])
    func harmless(text: String, expected: String) {
        #expect(LogText.harmless(Array(text.utf8)) == expected)
    }

    @Test("Bytes that are not UTF-8 become replacement characters")
    func notUTF8() {
        #expect(LogText.harmless([0x61, 0xFF, 0xFE, 0x62, 0x00]) == "a\u{fffd}\u{fffd}b\\u{0}")
    }
}
