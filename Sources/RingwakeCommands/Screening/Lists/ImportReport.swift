import CallerListFiles
import ControlProtocol
import RingwakeCore

/// The results of importing one list or several, as `ringwake block import --json` prints them.
struct ImportReport: Encodable, Equatable {
    var schema = ControlAPI.schema
    private(set) var imports: [Entry] = []
    /// The first import that failed.
    private(set) var failure: RingwakeError?

    private enum CodingKeys: String, CodingKey {
        case schema
        case imports
    }

    /// One list.
    struct Entry: Encodable, Equatable {
        var list: String
        var source: String
        /// `replaced`, `unchanged` or `failed`.
        var outcome: String
        /// Why it failed.
        var why: String?
        /// How many entries the list has now.
        var entries: Int?
        /// The source's format.
        var format: String?
        /// The source's current validator.
        var etag: String?
        /// Number of invalid lines that were skipped; ``problems`` has the first of them.
        var passedOver: Int?
        var problems: [Problem]?
    }

    /// An invalid line.
    struct Problem: Encodable, Equatable {
        var line: Int
        var text: String
    }

    mutating func add(_ outcome: CallerListImport.Outcome, of work: CallerListImport) {
        var entry = Entry(list: work.list, source: work.source, outcome: "unchanged")
        if case .replaced(let message, let format, let problems) = outcome {
            entry.outcome = "replaced"
            entry.source = message.source ?? work.source
            entry.entries = message.entries
            entry.format = format.rawValue
            entry.etag = message.etag
            entry.passedOver = problems.count
            entry.problems = problems.first.map { Problem(line: $0.line, text: $0.text) }
        }
        imports.append(entry)
    }

    mutating func add(_ error: RingwakeError, of work: CallerListImport) {
        imports.append(Entry(list: work.list, source: work.source, outcome: "failed", why: error.message))
        failure = failure ?? error
    }

    func text(style: TextStyle) -> String {
        imports.map { entry in
            let name = TerminalText.printable(entry.list)
            switch entry.outcome {
            case "failed": return "\(name): " + style.bad("failed") + ", the list is unchanged\n"
            case "unchanged": return "\(name): unchanged\n"
            default: return "\(name): " + text(ofReplaced: entry)
            }
        }.joined()
    }

    private func text(ofReplaced entry: Entry) -> String {
        var lines = [CallerListText.entries(entry.entries ?? 0) + " from \(entry.source) (\(entry.format ?? ""))"]
        if let count = entry.passedOver, count > 0 {
            lines.append("  skipped \(count == 1 ? "1 invalid line" : "\(count) invalid lines"):")
            for problem in entry.problems ?? [] {
                lines.append("  line \(problem.line): \(problem.text)")
            }
            if count > entry.problems?.count ?? 0 { lines.append("  ...") }
        }
        return lines.map { TerminalText.printable($0) + "\n" }.joined()
    }
}
