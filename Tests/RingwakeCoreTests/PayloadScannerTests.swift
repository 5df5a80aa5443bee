import Testing

@testable import RingwakeCore

@Suite("The scanner finds in one pass what a walk over the tree finds")
struct PayloadScannerTests {
    /// The same payloads for the same seed, so that a failure can be repeated.
    typealias Generator = RandomOrderTests.Generator

    /// A JSON value; `node` names it, so that it can be told from an equal one.
    indirect enum Tree {
        case object(node: Int, [(name: String, value: Tree)])
        case array(node: Int, [Tree])
        case string(node: Int, String)
        case word(node: Int, String)

        var node: Int {
            switch self {
            case .object(let node, _), .array(let node, _), .string(let node, _), .word(let node, _): node
            }
        }

        /// The RFC's algorithm, step by step.
        func value(at tokens: ArraySlice<String>) -> Tree? {
            guard let token = tokens.first else { return self }
            switch self {
            case .object(_, let members):
                return members.last { Array($0.name.utf8) == Array(token.utf8) }?.value.value(at: tokens.dropFirst())
            case .array(_, let elements):
                guard let index = Int(token), String(index) == token, elements.indices.contains(index) else {
                    return nil
                }
                return elements[index].value(at: tokens.dropFirst())
            case .string, .word:
                return nil
            }
        }
    }

    /// Makes trees of few names, so that pointers often lead somewhere and names often repeat.
    struct Maker {
        static let names = ["a", "b", "0", "1", "01", "-", "", "call", "~", "/", "a\"\\", "é", "😀", "\u{0}\n"]
        static let words = ["true", "false", "null", "0", "-1", "12.5e-3", "1e999", "1763751600"]
        var random: Generator
        var nodes = 0

        mutating func name() -> String { Maker.names.randomElement(using: &random) ?? "" }

        mutating func tree(depth: Int) -> Tree {
            nodes += 1
            let node = nodes
            switch Int.random(in: 0..<(depth > 0 ? 6 : 2), using: &random) {
            case 0: return .word(node: node, Maker.words.randomElement(using: &random) ?? "0")
            case 1:
                let length = Int.random(in: 0...3, using: &random)
                return .string(node: node, (0..<length).map { _ in name() }.joined())
            case 2:
                return .array(
                    node: node, (0..<Int.random(in: 0...4, using: &random)).map { _ in tree(depth: depth - 1) })
            default: return object(node: node, depth: depth)
            }
        }

        mutating func object(node: Int, depth: Int) -> Tree {
            let count = Int.random(in: 0...6, using: &random)
            return .object(node: node, (0..<count).map { _ in (name(), tree(depth: depth - 1)) })
        }

        mutating func tokens(in tree: Tree) -> [String] {
            var tokens: [String] = []
            var tree = tree
            while Int.random(in: 0..<8, using: &random) > 0 {
                switch tree {
                case .object(_, let members):
                    guard let member = members.randomElement(using: &random) else { return tokens }
                    tokens.append(member.name)
                    tree = member.value
                case .array(_, let elements):
                    guard let index = elements.indices.randomElement(using: &random) else { return tokens }
                    tokens.append(String(index))
                    tree = elements[index]
                case .string, .word:
                    return tokens
                }
            }
            // Sometimes astray.
            if Int.random(in: 0..<4, using: &random) == 0 {
                tokens.append(name())
            }
            return tokens
        }
    }

    /// Writes a tree as one of the many texts that it can be written as, and notes where each value stands.
    struct Writer {
        var random: Generator
        var bytes: [UInt8] = []
        var ranges: [Int: Range<Int>] = [:]

        mutating func write(_ tree: Tree) {
            space()
            let start = bytes.count
            switch tree {
            case .word(_, let word): bytes += Array(word.utf8)
            case .string(_, let text): string(text)
            case .array(_, let elements):
                list("[", "]", elements.count) { $0.write(elements[$1]) }
            case .object(_, let members):
                list("{", "}", members.count) { writer, index in
                    writer.space()
                    writer.string(members[index].name)
                    writer.space()
                    writer.bytes.append(UInt8(ascii: ":"))
                    writer.write(members[index].value)
                }
            }
            ranges[tree.node] = start..<bytes.count
            space()
        }

        private mutating func list(_ open: String, _ close: String, _ count: Int, _ body: (inout Writer, Int) -> Void) {
            bytes += Array(open.utf8)
            space()
            for index in 0..<count {
                if index > 0 {
                    bytes.append(UInt8(ascii: ","))
                }
                body(&self, index)
            }
            bytes += Array(close.utf8)
        }

        private mutating func space() {
            while Int.random(in: 0..<5, using: &random) == 0 {
                bytes.append([0x20, 0x09, 0x0A, 0x0D].randomElement(using: &random) ?? 0x20)
            }
        }

        private mutating func string(_ text: String) {
            bytes.append(UInt8(ascii: "\""))
            for scalar in text.unicodeScalars {
                let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
                if mustEscape || Int.random(in: 0..<4, using: &random) == 0 {
                    for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                        let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
                        bytes += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
                    }
                } else {
                    bytes += Array(String(scalar).utf8)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
    }

    @Test("Random trees, written at random, under random pointers", arguments: 0..<300)
    func randomTrees(seed: Int) throws {
        var maker = Maker(random: Generator(state: UInt64(seed)))
        let tree = maker.object(node: 0, depth: Int.random(in: 1...6, using: &maker.random))
        var writer = Writer(random: maker.random)
        writer.write(tree)
        try JSONSyntax.requireObject(writer.bytes)
        for _ in 0..<20 {
            let paths = (0..<Int.random(in: 1...7, using: &maker.random)).map { _ in maker.tokens(in: tree) }
            let found = PayloadScanner.find(try paths.map(pointer), in: writer.bytes)
            let expected = paths.map { path in tree.value(at: path[...]).flatMap { writer.ranges[$0.node] } }
            #expect(found == expected, "\(paths) in \(String(decoding: writer.bytes, as: UTF8.self))")
        }
    }

    @Test("A string is read as it was meant, however it was escaped", arguments: 0..<50)
    func strings(seed: Int) throws {
        var maker = Maker(random: Generator(state: UInt64(seed)))
        for _ in 0..<20 {
            let text = (0..<Int.random(in: 0...8, using: &maker.random)).map { _ in maker.name() }.joined()
            var writer = Writer(random: maker.random)
            writer.write(.object(node: 0, [("s", .string(node: 1, text))]))
            maker.random = writer.random
            let range = try #require(writer.ranges[1])
            let inner = (range.lowerBound + 1)..<(range.upperBound - 1)
            #expect(PayloadText.string(writer.bytes, inner) == text)
            #expect(PayloadText.isEqual(writer.bytes, inner, Array(text.utf8)))
            #expect(!PayloadText.isEqual(writer.bytes, inner, Array((text + "x").utf8)))
            #expect(text.isEmpty || !PayloadText.isEqual(writer.bytes, inner, Array(text.utf8.dropLast())))
        }
    }

    @Test("64 levels are followed to the end; the pointers of one scan end and begin within each other")
    func depth() throws {
        let names = String(repeating: "/a", count: 64)
        let document = String(repeating: #"{"a":"#, count: 64) + "7" + String(repeating: "}", count: 64)
        let bytes = Array(document.utf8)
        try JSONSyntax.requireObject(bytes)
        let found = PayloadScanner.find([try JSONPointer(names), try JSONPointer("/a"), nil], in: bytes)
        #expect(found[0].map { Array(bytes[$0]) } == Array("7".utf8))
        #expect(found[1] == 5..<(bytes.count - 1))
        #expect(found[2] == nil)
        #expect(found.count == 3)
    }

    @Test("Bytes that nobody checked neither trap nor hang, and never yield a range outside of them")
    func mutations() throws {
        var random = Generator(state: 11)
        let valid =
            Array(
                #"{"aps":{"call-id":"c\u0041\ud83d\ude00","alert":{"loc-args":["A",[1,{}]]},"send-time":"2026-01-02"},"#
                    .utf8)
            + Array(#""ringwake":{"call":12.5e3,"video":true,"cancel":null},"pn_ttl":30,"twi_from":"é"}"#.utf8)
        let mappings = PayloadMapping.presetNames.compactMap(PayloadMapping.preset)
        let pointers = try ["", "/aps", "/aps/alert/loc-args/1/1", "/ringwake/call", "/pn_ttl"].map(pointer(written:))
        var outside = 0
        for _ in 0..<6_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let structural = Array(#"{}[]",:\u"#.utf8).randomElement(using: &random) ?? 0
                let index = Int.random(in: bytes.indices, using: &random)
                bytes[index] = Bool.random(using: &random) ? structural : UInt8.random(in: 0...255, using: &random)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            outside += PayloadScanner.find(pointers, in: bytes).count { range in
                range.map { $0.lowerBound < 0 || $0.upperBound > bytes.count } ?? false
            }
            for mapping in mappings {
                _ = mapping.facts(in: bytes, receivedAt: BootInstant(nanoseconds: 0), wallClock: 0)
            }
        }
        #expect(outside == 0)
    }

    private func pointer(_ tokens: [String]) throws -> JSONPointer {
        try pointer(
            written: tokens.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined())
    }

    private func pointer(written text: String) throws -> JSONPointer { try JSONPointer(text) }
}
