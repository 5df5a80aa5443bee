import FileSystem
import PushJournal
import RingwakeCore
import Testing

@Suite("The index of callers")
struct CallerIndexTests {
    let folder: IndexFolder

    init() throws { folder = try IndexFolder() }

    @Test("The closest entry of each kind is found: the caller, the longest prefix, the host")
    func closest() throws {
        let index = try folder.build([
            ("spam", .block, ["+49900*=Premium", "+4990012*=Fraud", "+49900123=Bob", "*@spam.example", "anonymous"]),
            ("names", .identify, ["+499*=Region", "+49900123=Bob's shop", "carol@example.org=Carol", "110=Police"]),
        ])
        func check(_ caller: String?, _ blocked: String?, _ identified: String?) throws {
            let verdict = try index.lookup(CallerHandle(caller))
            #expect(verdict?.blocked.map { "\($0.list) \($0.pattern) \($0.label ?? "-")" } == blocked)
            #expect(verdict?.identified.map { "\($0.list) \($0.pattern) \($0.label ?? "-")" } == identified)
        }
        try check("tel:+49-900-123", "spam +49900123 Bob", "names +49900123 Bob's shop")
        try check("+499001234", "spam +4990012* Fraud", "names +499* Region")
        try check("+49900999", "spam +49900* Premium", "names +499* Region")
        try check("+49900", "spam +49900* Premium", "names +499* Region")
        try check("+4990", nil, "names +499* Region")
        try check("+49", nil, nil)
        try check("49900123", nil, nil)
        try check("sip:+49900123@spam.example", "spam +49900123 Bob", "names +49900123 Bob's shop")
        try check("sip:mallory@SPAM.example", "spam *@spam.example -", nil)
        try check("sip:+41443332211@spam.example", "spam *@spam.example -", nil)
        try check("carol@example.org", nil, "names carol@example.org Carol")
        try check("sip:dave@example.org", nil, nil)
        try check("110", nil, "names 110 Police")
        try check("1100", nil, nil)
        try check(nil, "spam anonymous -", nil)
        #expect(index.listNames == ["spam", "names"])
        #expect(index.generation == 7)
        #expect(folder.entries == 9)
    }

    @Test("Of two lists of one kind the earlier one counts; a number is there once for each kind")
    func order() throws {
        let index = try folder.build([
            ("first", .block, ["+491=one", "a@b.example=one"]), ("second", .block, ["+491=two", "a@b.example=two"]),
            ("third", .identify, ["+491=three"]), ("fourth", .identify, ["+491=four", "+49 1=five"]),
        ])
        let verdict = try #require(try index.lookup(CallerHandle("+491")))
        #expect(verdict.blocked?.list == "first" && verdict.blocked?.label == "one")
        #expect(verdict.identified?.list == "third" && verdict.label == "three")
        #expect(try index.lookup(CallerHandle("a@b.example"))?.blocked?.list == "first")
        #expect(folder.entries == 3)
    }

    @Test("National numbers of lists meet callers in E.164, by the same rules")
    func dialling() throws {
        let germany = try DiallingRules(countryCode: "49", trunkPrefix: "0")
        let index = try folder.build([("a", .block, ["0900*", "089 123456"])], rules: germany)
        #expect(try index.lookup(CallerHandle("+49900111", rules: germany))?.blocked != nil)
        #expect(try index.lookup(CallerHandle("sip:089123456@a.example", rules: germany))?.blocked != nil)
        #expect(index.isBuilt(with: germany))
        #expect(!index.isBuilt(with: .none))
    }

    @Test("Numbers longer than E.164 are found as they are, and by prefixes")
    func longNumbers() throws {
        let long = "+12345678901234567"
        let index = try folder.build([("a", .block, [long]), ("b", .identify, ["+123456789012345*", "+1*"])])
        let verdict = try #require(try index.lookup(CallerHandle(long)))
        #expect(verdict.blocked?.pattern.description == long)
        #expect(verdict.identified?.pattern.description == "+123456789012345*")
        #expect(try index.lookup(CallerHandle("+12345678901234568"))?.blocked == nil)
        #expect(try index.lookup(CallerHandle("+123456789012345"))?.blocked == nil)
    }

    @Test("An index without entries knows nobody")
    func empty() throws {
        let index = try folder.build([])
        #expect(try index.lookup(CallerHandle("+491")) == nil)
        #expect(try index.lookup(.anonymous) == nil)
        _ = try folder.build([("a", .block, [])])
        #expect(folder.entries == 0)
    }

    @Test("It finds what a plain search through all entries finds", arguments: [3, 50, 100_000])
    func againstPlainSearch(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        func number() -> String {
            let length = Int.random(in: 1...16, using: &random)
            let digits = (0..<length).map { _ in "\(Int.random(in: 0...2, using: &random))" }.joined()
            return Bool.random(using: &random) ? "+\(digits)" : "9\(digits)"
        }
        func address() -> String {
            "u\(Int.random(in: 0...99, using: &random))@h\(Int.random(in: 0...9, using: &random)).example"
        }
        var entries: [(list: Int, pattern: CallerPattern)] = []
        for _ in 0..<1_500 {
            let text: String
            switch Int.random(in: 0..<8, using: &random) {
            case 0: text = address()
            case 1: text = "*@h\(Int.random(in: 0...30, using: &random)).example"
            case 2, 3: text = String(number().prefix(15)) + "*"
            default: text = number()
            }
            entries.append((Int.random(in: 0..<4, using: &random), try CallerPattern(text)))
        }
        entries.sort { $0.list < $1.list }
        let builder = try CallerIndexBuilder(replacing: folder.index, generation: 1)
        for list in 0..<4 {
            try builder.beginList("\(list)", kind: list % 2 == 0 ? .block : .identify)
            for entry in entries where entry.list == list { try builder.add(CallerEntry(pattern: entry.pattern)) }
        }
        try builder.finish()
        let index = try CallerIndex(folder.index)
        var found = 0
        for _ in 0..<600 {
            let text = Bool.random(using: &random) ? number() : address()
            let caller = CallerHandle(Bool.random(using: &random) ? text : "sip:\(text)@h3.example")
            for (kind, lists) in [(CallerListKind.block, [0, 2]), (.identify, [1, 3])] {
                let matching = entries.filter { lists.contains($0.list) && $0.pattern.matches(caller) }
                let best = matching.min { closeness($0.pattern) > closeness($1.pattern) }
                let verdict = try index.lookup(caller)
                let match = kind == .block ? verdict?.blocked : verdict?.identified
                #expect(match?.pattern == best?.pattern, "\(caller)")
                #expect(match?.list == matching.filter { $0.pattern == best?.pattern }.map { "\($0.list)" }.min())
                if match != nil { found += 1 }
            }
        }
        #expect(found > 150)
        #expect(folder.names == ["callers.index"])
    }

    /// How close a pattern is to a caller that it matches.
    private func closeness(_ pattern: CallerPattern) -> Int {
        switch pattern.kind {
        case .exact, .anonymous: 1_000
        case .numberPrefix(let prefix): prefix.utf8.count
        case .domain: 0
        }
    }

    @Test("Only a finished index takes the place of the last one, and an open one goes on as it was")
    func replacement() throws {
        let old = try folder.build([("a", .block, ["+491"])])
        do {
            let builder = try CallerIndexBuilder(replacing: folder.index, generation: 8)
            try builder.beginList("b", kind: .block)
            for number in 0..<1_000 { try builder.add(CallerEntry(pattern: CallerPattern("+492\(number)"))) }
            #expect(folder.names.count == 2)
        }
        #expect(folder.names == ["callers.index"], "a builder that is given up leaves nothing")
        #expect(try CallerIndex(folder.index).generation == 7)
        let new = try folder.build([("b", .block, ["+492"])])
        #expect(try old.lookup(CallerHandle("+491")) != nil)
        #expect(try old.lookup(CallerHandle("+492")) == nil)
        #expect(try new.lookup(CallerHandle("+492")) != nil)
        #expect(try new.lookup(CallerHandle("+491")) == nil)
    }

    @Test("A path may hold what means something in a URI")
    func path() throws {
        let path = folder.path + "/a?b=c#d%20e&immutable=0"
        try CallerIndexBuilder(replacing: path, generation: 9).finish()
        #expect(try CallerIndex(path).generation == 9)
        #expect(folder.names.count == 1)
    }

    @Test("What cannot be written is an error, and many lists are none")
    func builderErrors() throws {
        #expect(throws: RingwakeError.self) { try CallerIndexBuilder(replacing: "/nonexistent/x", generation: 1) }
        #expect(throws: RingwakeError.self) { try CallerIndexBuilder(replacing: "a\u{0}b", generation: 1) }
        let builder = try CallerIndexBuilder(replacing: folder.index, generation: 1)
        for number in 0..<256 { try builder.beginList("\(number)", kind: .block) }
        try builder.add(CallerEntry(pattern: try CallerPattern("+491")))
        #expect(try builder.finish() == 1)
        #expect(try CallerIndex(folder.index).lookup(CallerHandle("+491"))?.blocked?.list == "255")
    }

    @Test("A caller that calls itself as a prefix is written is not found by it")
    func stars() throws {
        let index = try folder.build([("a", .block, ["+49900*=Premium", "*@spam.example"])])
        for caller in ["+49900*", "*+49900", "*+49900@example.org", "tel:*+49900", "tel:*@spam.example"] {
            #expect(try index.lookup(CallerHandle(caller)) == nil, "\(caller)")
        }
        #expect(try index.lookup(CallerHandle("sip:*@spam.example"))?.blocked?.pattern.description == "*@spam.example")
    }
}
