@testable import CallerListFiles
@testable import RingwakeCore

/// Lists of callers that a person imports: address books, spreadsheets, plain lists.
enum CallerHarness {
    static let list = Harness("caller-list") { input in
        var isRead = false
        for format in CallerListFormat.allCases {
            let whole = Outcome([input[...]], format)
            for pieces in Cuts.of(input) {
                let other = Outcome(pieces, format)
                // More entries come before an error in small pieces.
                let isSame = whole.error == nil ? whole == other : whole.error == other.error
                try require(isSame, "other pieces, another list:\n  \(whole)\n  \(other)")
            }
            for entry in whole.entries { try check(entry) }
            try requireEqual(whole.problems.first.count, min(10, whole.problems.count), "another number of problems")
            isRead = isRead || (whole.error == nil && !whole.entries.isEmpty)
        }
        return isRead
    }

    /// One entry, in the forms that a person writes.
    static let pattern = Harness("caller-pattern", maximumBytes: 300) { input in
        let text = String(decoding: input, as: UTF8.self)
        for rules in try rules.get() {
            let caller = CallerHandle(text, rules: rules)
            try require(caller.text.utf8.count <= CallerHandle.maximumBytes, "a caller is longer than the limit")
            guard let pattern = try? CallerPattern(text, rules: rules) else { continue }
            try check(CallerEntry(pattern: pattern, label: text))
            guard case .exact = pattern.kind else { continue }
            try require(pattern.matches(caller), "a caller's pattern does not match it")
        }
        return (try? CallerPattern(text)) != nil
    }

    private static let rules = Result {
        [
            DiallingRules.none, try DiallingRules(countryCode: "49", trunkPrefix: "0"),
            try DiallingRules(countryCode: "1", trunkPrefix: "1"), try DiallingRules(countryCode: "34"),
        ]
    }

    private struct Outcome: Equatable {
        var entries: [CallerEntry] = []
        var problems = CallerListProblems()
        var format: CallerListFormat
        var error: RingwakeError?

        init(_ pieces: [ArraySlice<UInt8>], _ format: CallerListFormat) {
            var reader = CallerListReader(format: format)
            do throws(RingwakeError) {
                for piece in pieces { entries += try reader.read(Array(piece)) }
                entries += try reader.finish()
            } catch {
                self.error = error
            }
            problems = reader.problems
            self.format = reader.format
        }
    }

    /// A pattern's text is stored and sent: it has to be the same pattern when it is read.
    private static func check(_ entry: CallerEntry) throws {
        let text = entry.pattern.description
        let again = try present(try? CallerPattern(text), "'\(text)' is no pattern again")
        try requireEqual(again, entry.pattern, "'\(text)' is another pattern")
        try requireEqual(again.description, text, "'\(text)' has another text")
        let label = entry.label ?? ""
        try require(label.utf8.count <= CallUpdate.maximumTextBytes, "a label is longer than the limit")
        try require(!label.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "a control character")
    }
}
