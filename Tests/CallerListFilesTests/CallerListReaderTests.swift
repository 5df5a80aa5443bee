import RingwakeCore
import Testing

@testable import CallerListFiles

@Suite("Files of callers")
struct CallerListReaderTests {
    struct Outcome: Equatable {
        var entries: [String] = []
        var problems: [String] = []
        var problemCount = 0
        var format = CallerListFormat.auto
    }

    /// Reads a text in pieces of a size; each entry as `pattern|label`.
    func read(
        _ text: String, format: CallerListFormat = .auto, pieces: Int = 1_000_000
    ) throws -> Outcome { try read(Array(text.utf8), format: format, pieces: pieces) }

    func read(_ bytes: [UInt8], format: CallerListFormat = .auto, pieces: Int) throws -> Outcome {
        var reader = CallerListReader(format: format)
        var entries: [CallerEntry] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            entries += try reader.read(Array(bytes[start..<min(start + pieces, bytes.count)]))
        }
        entries += try reader.finish()
        #expect(reader.entryCount == entries.count)
        return Outcome(
            entries: entries.map { "\($0.pattern)|\($0.label ?? "")" },
            problems: reader.problems.first.map { "\($0.line): \($0.text)" }, problemCount: reader.problems.count,
            format: reader.format)
    }

    static let cards = """
        BEGIN:VCARD\r
        VERSION:4.0\r
        FN:Dr. Alice\\, Example\\nInc\r
        N:Example;Alice;;Dr.;\r
        TEL;VALUE=uri;TYPE="voice,work";X-A="b:c":tel:+49-89-123456;ext=5\r
        TEL;TYPE=cell:+49 (0)170\r
          1234567\r
        item1.IMPP;TYPE=work:sip:alice@example.org\r
        IMPP:xmpp:alice@jabber.example\r
        PHOTO:data:image/jpeg;base64,AAAA\r
         BBBB\r
        END:VCARD\r
        BEGIN:VCARD\r
        VERSION:2.1\r
        N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg=\r
        ;;;\r
        TEL;CELL:0170 765 43 21\r
        X-SIP:sip:joerg@example.org\r
        TEL;HOME:none\r
        TEL;HOME:\r
        END:VCARD\r
        begin:vcard\r
        version:3.0\r
        tel:+4930555\r
        end:vcard\r

        """

    @Test("A file that is no UTF-8 text is refused in pieces of each size", arguments: [1, 2, 1_000_000])
    func foreignText(pieces: Int) {
        for bytes in [[0xFF, 0xFE, 0x61], [0xFE, 0xFF, 0x61], [0x61, 0x0A, 0x62, 0x00]] as [[UInt8]] {
            #expect(throws: RingwakeError.self) { try read(bytes, pieces: pieces) }
        }
    }

    @Test("A host that is another one when its pattern is read again is refused")
    func unstableHost() throws {
        #expect(throws: RingwakeError.self) { try CallerPattern("*@a..") }
        #expect(try CallerPattern("*@a.").description == "*@a")
    }

    @Test("Address books of three versions", arguments: [1, 7, 1_000_000])
    func vCard(pieces: Int) throws {
        let outcome = try read(Self.cards, pieces: pieces)
        #expect(
            outcome.entries == [
                "+4989123456|Dr. Alice, Example Inc", "+491701234567|Dr. Alice, Example Inc",
                "alice@example.org|Dr. Alice, Example Inc", "01707654321|Müller Jörg", "joerg@example.org|Müller Jörg",
                "+4930555|",
            ])
        #expect(outcome.problems == ["19: 'none' is no telephone number and no address"])
        #expect(outcome.format == .vCard)
    }

    @Test("A card without an end is left out and reported; a long picture is not")
    func brokenCards() throws {
        let picture = "PHOTO:" + String(repeating: "A", count: 200_000)
        let name = "FN:" + String(repeating: "B", count: 70_000)
        let text = """
            BEGIN:VCARD
            TEL:+491
            BEGIN:VCARD
            \(picture)
            \(name)
            TEL:+492
            END:VCARD
            TEL:+493
            BEGIN:VCARD
            TEL:+494
            """
        let outcome = try read(text)
        #expect(outcome.entries == ["+492|"])
        #expect(
            outcome.problems == [
                "3: the card before this one has no END:VCARD; it was left out", "5: FN is longer than 65536 bytes",
                "10: the last card has no END:VCARD; it was left out",
            ])
    }

    @Test("A card with more numbers than may be is taken as far as that")
    func manyNumbers() throws {
        let numbers = (0..<70).map { "TEL:+49\($0)\n" }.joined()
        let outcome = try read("BEGIN:VCARD\n\(numbers)END:VCARD\n")
        #expect(outcome.entries.count == 64)
        #expect(outcome.problemCount == 6)
    }

    @Test("A table with names for its columns", arguments: [1, 5, 1_000_000])
    func csv(pieces: Int) throws {
        let lines = [
            "\u{FEFF}Name,Phone Number,\"Notes\"", "\"Smith, \"\"Joe\"\"\",+49 89 1234567,\"two", "lines\"",
            "Bob,0900*,",
            "Eve,*,x", "\"\",alice@example.org,", "", "Carl,,", "Ann,\"+44 20 7946 0000",
        ]
        let text = lines.joined(separator: "\r\n")
        let outcome = try read(text, pieces: pieces)
        #expect(
            outcome.entries == [
                "+49891234567|Smith, \"Joe\"", "0900*|Bob", "alice@example.org|",
            ])
        #expect(outcome.problemCount == 3)
        #expect(outcome.problems.map { $0.prefix(2) } == ["5:", "8:", "9:"])
        #expect(outcome.format == .csv)
    }

    @Test("Tables as spreadsheets and exports write them")
    func csvKinds() throws {
        #expect(try read("+491;Bob\n+492;\"A;B\"\n").entries == ["+491|Bob", "+492|A;B"])
        #expect(try read("+491\tBob, the\n").entries == ["+491|Bob, the"])
        #expect(
            try read("prefix;comment\n+49900;Premium\n+49901*;More\n").entries == ["+49900*|Premium", "+49901*|More"])
        #expect(
            try read(
                "First Name,Last Name,Phone 1 - Type,Phone 1 - Value,Phone 2 - Value\nA,B,Work,+491 ::: +492,+493\nC,,,,\n"
            )
            .entries == ["+491|A B", "+492|A B", "+493|A B"])
        #expect(try read("number\n+491\n").entries == ["+491|"])
        #expect(try read("\"number\"\n\"+491\"\n").format == .csv)
        #expect(try read("+491,a\n# comment,b\n").entries == ["+491|a"])
        #expect(try read("number,name\n\"+49\n1\",x\n").entries == ["+491|x"])
    }

    @Test("A plain list")
    func list() throws {
        let text = """
            # my list

            +49 900 1234   # premium
              +49901*
            sip:alice@example.org;transport=tcp
            *@spam.example\tSpammers
            anonymous
            a#b@example.org
            bad*bad
            """
        let outcome = try read(text)
        #expect(outcome.format == .list)
        #expect(
            outcome.entries == [
                "+499001234|", "+49901*|", "alice@example.org|", "*@spam.example|Spammers", "anonymous|",
                "a#b@example.org|",
            ])
        #expect(outcome.problems.first?.hasPrefix("9: 'bad*bad'") == true)
        #expect(try read("", format: .auto).format == .auto)
        #expect(try read("\n\n#x\n").entries.isEmpty)
        #expect(try read("sip:a@b.example;x=y,Bob\n").format == .csv)
    }

    @Test("Of many bad lines the first ten are kept and all are counted")
    func manyProblems() throws {
        let outcome = try read(String(repeating: "*\n", count: 25), format: .list)
        #expect(outcome.problems.count == 10 && outcome.problemCount == 25)
        #expect(outcome.problems.last?.hasPrefix("10: ") == true)
    }

    @Test("What is no text in UTF-8, or longer than may be, is refused")
    func refused() throws {
        #expect(throws: RingwakeError.self) { try read([0xFF, 0xFE, 0x2B, 0x00], pieces: 10) }
        #expect(throws: RingwakeError.self) { try read([0x7F, 0x45, 0x4C, 0x46, 0, 0], pieces: 10) }
        #expect(try read([0x2B, 0x34, 0x39, 0xFF, 0x0A], format: .list, pieces: 10).entries.count == 1)
        var reader = CallerListReader(format: .vCard, rules: .none, maximumBytes: 4 << 20)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        for _ in 0..<4 { _ = try reader.read(piece) }
        let error = #expect(throws: RingwakeError.self) { try reader.read([1]) }
        #expect(error?.code == .limitReached)
    }

    @Test("A line that never ends costs no memory, and is one problem")
    func endless() throws {
        let line = String(repeating: "9", count: 300_000)
        #expect(try read("\(line)\n+491\n", format: .list, pieces: 4_096).entries == ["+491|"])
        let quote = try read("+491,a\n+492,\"\(line)\n\n+493,b\n", format: .csv, pieces: 4_096)
        #expect(quote.entries == ["+491|a", "+493|b"])
        #expect(quote.problemCount == 1)
    }

    @Test("Whatever the bytes are, in whatever pieces: no trap, and the same entries")
    func anything() throws {
        var random = SplitMix(state: 11)
        let words = [
            "BEGIN:VCARD", "END:VCARD", "TEL", ":", ";", "\"", ",", "\n", "\r\n", " ", "\t", "=", "=0A", "+49", "1",
            "*",
            "@", "#", "FN:", "QUOTED-PRINTABLE", "\\", "\\n", "phone,name", ":::", "é", "sip:a@b", "IMPP:", "\u{FEFF}",
        ]
        for format in CallerListFormat.allCases {
            for _ in 0..<150 {
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 0...60, using: &random) {
                    bytes += (words.randomElement(using: &random) ?? "").utf8
                    if Int.random(in: 0..<20, using: &random) == 0 {
                        bytes.append(UInt8.random(in: 1...255, using: &random))
                    }
                }
                let whole = try read(bytes, format: format, pieces: 100_000)
                #expect(try read(bytes, format: format, pieces: 1) == whole)
                for entry in whole.entries { #expect(!entry.contains("\n")) }
            }
        }
    }
}

/// A generator that gives the same numbers in each run.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
