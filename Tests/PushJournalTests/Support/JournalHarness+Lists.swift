import PushJournal
import RingwakeCore
import RunLoop
import Testing

/// Lists of callers, one thing at a time.
extension JournalHarness {
    func lists() throws -> [CallerListRecord] {
        guard case .lists(let lists) = try run(.all) else { throw WrongResult() }
        return lists
    }

    @discardableResult
    func createList(_ name: String, _ kind: CallerListKind? = nil) throws -> CallerListRecord {
        try list(.create(name, kind))
    }

    @discardableResult
    func removeList(_ name: String) throws -> CallerListRecord { try list(.remove(name)) }

    @discardableResult
    func change(_ list: String, add: [CallerEntry] = [], remove: [String] = []) throws -> CallerListRecord {
        try self.list(.change(list, add: add, remove: try remove.map { try CallerPattern($0) }))
    }

    func entries(_ list: String, after: String? = nil, limit: Int = 1_000) throws -> [CallerEntry] {
        guard case .entries(let entries) = try run(.entries(of: list, after: after, limit: limit)) else {
            throw WrongResult()
        }
        return entries
    }

    private func run(_ command: CallerListCommand) throws -> CallerListResult {
        try wait { journal.lists(command, completion: $0) }
    }

    private func list(_ command: CallerListCommand) throws -> CallerListRecord {
        guard case .list(let list) = try run(command) else { throw WrongResult() }
        return list
    }

    private func listImport(_ command: CallerListCommand) throws -> CallerListImport {
        guard case .listImport(let listImport) = try run(command) else { throw WrongResult() }
        return listImport
    }

    /// The result is of another command.
    private struct WrongResult: Error {}

    /// The patterns of all entries, page by page.
    func patterns(_ list: String, page: Int = 700) throws -> [String] {
        var found: [String] = []
        while case let more = try entries(list, after: found.last, limit: page), !more.isEmpty {
            found += more.map(\.pattern.description)
        }
        return found
    }

    func beginImport(_ list: String, _ kind: CallerListKind? = nil) throws -> CallerListImport {
        try listImport(.beginImport(into: list, kind))
    }

    @discardableResult
    func append(_ entries: [CallerEntry], to id: String) throws -> CallerListImport {
        try listImport(.append(entries, to: id))
    }

    @discardableResult
    func finishImport(_ id: String, etag: String? = nil, source: String? = nil) throws -> CallerListRecord {
        try list(.finishImport(id, etag: etag, source: source))
    }

    @discardableResult
    func abortImport(_ id: String) throws -> CallerListImport { try listImport(.abortImport(id)) }

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
