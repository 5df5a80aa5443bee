internal import RingwakeCore

/// The caller lists of a simulated daemon. Searched one by one, because a test's lists are short.
struct CallerLists: Sendable {
    private struct List: Sendable {
        let kind: CallerListKind
        var source: String?
        var etag: String?
        /// Labels by pattern.
        var entries: [CallerPattern: String?] = [:]
    }

    private struct Import: Sendable {
        let list: String
        let kind: CallerListKind?
        var entries: [CallerPattern: String?] = [:]
    }

    private var lists: [String: List] = [:]
    private var imports: [String: Import] = [:]
    private var importsMade = 0

    /// The closest entry of each kind, over all lists.
    func verdict(on caller: CallerHandle) -> ListVerdict? {
        ListVerdict(blocked: match(caller, .block), identified: match(caller, .identify))
    }

    private func match(_ caller: CallerHandle, _ kind: CallerListKind) -> ListMatch? {
        let found = lists.sorted { $0.key < $1.key }.filter { $0.value.kind == kind }.flatMap { name, list in
            list.entries.filter { $0.key.matches(caller) }.map { pattern, label in
                ListMatch(list: name, pattern: pattern, label: label)
            }
        }
        return found.max { $0.pattern.closeness < $1.pattern.closeness }
    }

    mutating func run(_ command: CallerListCommand) -> Result<CallerListResult, RingwakeError> {
        do throws(RingwakeError) {
            return .success(try result(of: command))
        } catch {
            return .failure(error)
        }
    }

    private mutating func result(of command: CallerListCommand) throws(RingwakeError) -> CallerListResult {
        switch command {
        case .all: return .lists(lists.keys.sorted().compactMap { try? record($0) })
        case .entries(let name, let after, let limit):
            _ = try record(name)
            let sorted = (lists[name]?.entries ?? [:]).map { CallerEntry(pattern: $0.key, label: $0.value) }
                .sorted { $0.pattern.description < $1.pattern.description }
            return .entries(Array(sorted.filter { $0.pattern.description > (after ?? "") }.prefix(limit)))
        case .create(let name, let kind):
            try create(name, kind)
            return .list(try record(name))
        case .remove(let name):
            defer { lists[name] = nil }
            return .list(try record(name))
        case .change(let name, let added, let removed):
            _ = try record(name)
            for pattern in removed { lists[name]?.entries.removeValue(forKey: pattern) }
            for entry in added { lists[name]?.entries[entry.pattern] = .some(entry.label) }
            return .list(try record(name))
        case .beginImport(let name, let kind):
            importsMade += 1
            imports["\(importsMade)"] = Import(list: name, kind: kind)
            return .listImport(try known("\(importsMade)"))
        case .append(let entries, let id):
            for entry in entries { imports[id]?.entries[entry.pattern] = .some(entry.label) }
            return .listImport(try known(id))
        case .abortImport(let id):
            defer { imports[id] = nil }
            return .listImport(try known(id))
        case .finishImport(let id, let etag, let source):
            _ = try known(id)
            guard let finished = imports.removeValue(forKey: id) else { break }
            try create(finished.list, finished.kind)
            lists[finished.list]?.entries = finished.entries
            lists[finished.list]?.source = source
            lists[finished.list]?.etag = etag
            return .list(try record(finished.list))
        }
        throw RingwakeError(.notFound, "no such import")
    }

    private mutating func create(_ name: String, _ kind: CallerListKind?) throws(RingwakeError) {
        if let existing = lists[name], let kind, existing.kind != kind {
            throw RingwakeError(.conflict, "the list '\(name)' is of the kind \(existing.kind.rawValue)")
        }
        lists[name] = lists[name] ?? List(kind: kind ?? .block)
    }

    private func record(_ name: String) throws(RingwakeError) -> CallerListRecord {
        guard let list = lists[name] else { throw RingwakeError(.notFound, "no list '\(name)'") }
        return CallerListRecord(
            name: name, kind: list.kind, source: list.source, etag: list.etag, updatedWallClock: 0,
            entries: list.entries.count)
    }

    private func known(_ id: String) throws(RingwakeError) -> CallerListImport {
        guard let found = imports[id] else { throw RingwakeError(.notFound, "no import '\(id)'") }
        return CallerListImport(id: id, list: found.list, entries: found.entries.count)
    }
}

extension CallerPattern {
    /// An exact entry is closer than a prefix, a longer prefix is closer than a shorter one, and a host comes last.
    fileprivate var closeness: Int {
        switch kind {
        case .exact, .anonymous: 1000
        case .numberPrefix(let prefix): prefix.utf8.count
        case .domain: 0
        }
    }
}
