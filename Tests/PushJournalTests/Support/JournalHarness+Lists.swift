import PushJournal
import RingwakeCore
import RunLoop
import Testing

/// Lists of callers, one thing at a time.
extension JournalHarness {
    func lists() throws -> [CallerListRecord] {
        try wait { journal.lists(completion: $0) }
    }

    @discardableResult
    func createList(_ name: String, _ kind: CallerListKind? = nil) throws -> CallerListRecord {
        try wait { journal.createList(name, kind: kind, completion: $0) }
    }

    @discardableResult
    func removeList(_ name: String) throws -> CallerListRecord {
        try wait { journal.removeList(name, completion: $0) }
    }

    @discardableResult
    func change(_ list: String, add: [CallerEntry] = [], remove: [String] = []) throws -> CallerListRecord {
        let removed = try remove.map { try CallerPattern($0) }
        return try wait { journal.changeEntries(of: list, add: add, remove: removed, completion: $0) }
    }

    func entries(_ list: String, after: String? = nil, limit: Int = 1_000) throws -> [CallerEntry] {
        try wait { journal.entries(of: list, after: after, limit: limit, completion: $0) }
    }

    /// The patterns of all entries, page by page.
    func patterns(_ list: String, page: Int = 700) throws -> [String] {
        var found: [String] = []
        while case let more = try entries(list, after: found.last, limit: page), !more.isEmpty {
            found += more.map(\.pattern.description)
        }
        return found
    }

    func beginImport(_ list: String, _ kind: CallerListKind? = nil) throws -> CallerListImport {
        try wait { journal.beginImport(into: list, kind: kind, completion: $0) }
    }

    @discardableResult
    func append(_ entries: [CallerEntry], to id: String) throws -> CallerListImport {
        try wait { journal.append(entries, to: id, completion: $0) }
    }

    @discardableResult
    func finishImport(_ id: String, etag: String? = nil, source: String? = nil) throws -> CallerListRecord {
        try wait { journal.finishImport(id, etag: etag, source: source, completion: $0) }
    }

    @discardableResult
    func abortImport(_ id: String) throws -> CallerListImport {
        try wait { journal.abortImport(id, completion: $0) }
    }

    @discardableResult
    func rebuildIndex(at path: String? = nil) throws -> Int {
        try wait { journal.rebuildIndex(at: path ?? directory.index, rules: .none, completion: $0) }
    }

    /// Entries of numbers, in that order.
    func numbers(_ numbers: some Sequence<Int>, label: String? = nil) throws -> [CallerEntry] {
        try numbers.map { CallerEntry(pattern: try CallerPattern("+49\(100_000_000 + $0)"), label: label) }
    }

    /// The error that something ends with.
    func failure<Value>(_ body: () throws -> Value) -> RingwakeError? {
        do throws(any Error) {
            _ = try body()
            return nil
        } catch {
            return error as? RingwakeError
        }
    }
}
