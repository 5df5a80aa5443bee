internal import RingwakeCore

/// The requests that are done in one transaction.
nonisolated extension ListWorker {
    func create(_ name: String, _ kind: CallerListKind?) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        if let list = try store.list(named: name)?.record {
            return kind ?? list.kind == list.kind ? .success(.list(list)) : .failure(ListError.otherKind(list))
        }
        if let error = try objection(toName: name) { return .failure(error) }
        let list = StoredList(record: empty(name, kind ?? .block), generation: try store.nextGeneration())
        try store.transaction { () throws(SQLiteFailure) in
            try store.write(list)
            try store.changeListStamp()
        }
        return .success(.list(list.record))
    }

    private func empty(_ name: String, _ kind: CallerListKind) -> CallerListRecord {
        CallerListRecord(
            name: name, kind: kind, source: nil, etag: nil, updatedWallClock: store.clocks.wall(), entries: 0)
    }

    /// Why no list of that name can be made; nil when it can.
    private func objection(toName name: String) throws(SQLiteFailure) -> RingwakeError? {
        guard (1...ListError.maximumNameBytes).contains(name.utf8.count) else { return ListError.badName }
        guard try store.lists().count < limits.maximumLists else { return ListError.tooManyLists(limits.maximumLists) }
        return nil
    }

    func remove(_ name: String) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        try store.transaction { () throws(SQLiteFailure) in
            try store.removeList(list)
            try store.changeListStamp()
        }
        return .success(.list(list.record))
    }

    func change(
        _ name: String, add added: [CallerEntry], remove removed: [CallerPattern]
    ) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        let old = list.record
        let others = try store.entryCount(except: name)
        guard added.isEmpty || others + old.entries + added.count <= limits.maximumListEntries else {
            return .failure(ListError.tooManyEntries(limits.maximumListEntries))
        }
        var count = old.entries
        var new = old
        try store.transaction { () throws(SQLiteFailure) in
            count -= try store.remove(removed, from: list.generation)
            count += try store.insert(added.map(Store.EntryRow.init)[...], into: list.generation)
            // The list is no longer the same as its source; the source is still where it came from.
            new = CallerListRecord(
                name: name, kind: old.kind, source: old.source, etag: nil, updatedWallClock: store.clocks.wall(),
                entries: count)
            try store.write(StoredList(record: new, generation: list.generation))
            try store.changeListStamp()
        }
        return .success(.list(new))
    }

    func entries(
        _ name: String, after: String?, limit: Int
    ) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        let rows = try store.entries(
            of: list.generation, after: after, limit: max(0, min(limit, limits.maximumAnswers)))
        return .success(.entries(rows.compactMap(\.entry)))
    }

    // MARK: - Imports

    /// An import that is idle for longer makes room for others: its client is gone.
    private static let longestStandstill = Duration.seconds(600)

    func beginImport(
        _ name: String, _ kind: CallerListKind?
    ) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        let list = try store.list(named: name)?.record
        if let list, let kind, kind != list.kind { return .failure(ListError.otherKind(list)) }
        if list == nil, let error = try objection(toName: name) { return .failure(error) }
        let now = store.clocks.boot()
        let older = imports.filter {
            $0.value.list == name || $0.value.movedAt.duration(to: now) > Self.longestStandstill
        }
        guard imports.count - older.count < limits.maximumImports else {
            return .failure(ListError.tooManyImports(limits.maximumImports))
        }
        let generation = try store.nextGeneration()
        // Until it is finished, a start removes its entries.
        try store.transaction { () throws(SQLiteFailure) in try store.addRemains(generation) }
        for (id, superseded) in older { forget(id, superseded) }
        let id = String(UInt64.random(in: .min ... .max), radix: 36)
        let begun = Import(list: name, kind: kind ?? list?.kind ?? .block, generation: generation, movedAt: now)
        imports[id] = begun
        store.liveImports.insert(generation)
        return .success(.listImport(begun.said(id)))
    }

    func finishImport(
        _ id: CallerListImport.ID, etag: String?, source: String?
    ) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        guard let finished = imports[id] else { return .failure(ListError.noImport(id)) }
        let old = try store.list(named: finished.list)
        if let old, old.record.kind != finished.kind { return .failure(ListError.otherKind(old.record)) }
        if old == nil, let error = try objection(toName: finished.list) { return .failure(error) }
        let new = CallerListRecord(
            name: finished.list, kind: finished.kind, source: source, etag: etag,
            updatedWallClock: store.clocks.wall(), entries: finished.entries)
        try store.transaction { () throws(SQLiteFailure) in
            try store.takeFromRemains(finished.generation)
            if let old { try store.removeList(old) }
            try store.write(StoredList(record: new, generation: finished.generation))
            try store.changeListStamp()
        }
        imports[id] = nil
        store.liveImports.remove(finished.generation)
        return .success(.list(new))
    }

    func abortImport(_ id: CallerListImport.ID) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError> {
        guard let aborted = imports[id] else { return .failure(ListError.noImport(id)) }
        forget(id, aborted)
        return .success(.listImport(aborted.said(id)))
    }

    /// Its entries are removed when the journal has nothing else to do.
    func forget(_ id: CallerListImport.ID, _ dropped: Import) {
        imports[id] = nil
        store.liveImports.remove(dropped.generation)
        store.hasRemains = true
    }
}

nonisolated extension Store.EntryRow {
    init(_ entry: CallerEntry) {
        self.init(pattern: entry.pattern.description, label: entry.label)
    }

    /// Nil when no version writes such a pattern.
    var entry: CallerEntry? {
        guard let pattern = try? CallerPattern(pattern) else { return nil }
        return CallerEntry(pattern: pattern, label: label)
    }
}
