internal import Database
internal import RingwakeCore

/// The requests on lists that need one transaction, without imports.
nonisolated struct ListEdits {
    let store: Store
    let limits: JournalLimits

    private var records: ListRecords { ListRecords(vault: store.vault) }

    func create(_ name: String, _ kind: CallerListKind?) throws(SQLiteFailure) -> Result<
        CallerListResult, RingwakeError
    > {
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

    /// Why no list with that name can be created; nil if it can.
    func objection(toName name: String) throws(SQLiteFailure) -> RingwakeError? {
        guard (1...ListError.maximumNameBytes).contains(name.utf8.count) else { return ListError.badName }
        guard try store.lists().count < limits.maximumLists else { return ListError.tooManyLists(limits.maximumLists) }
        return nil
    }

    func remove(_ name: String) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        try store.transaction { () throws(SQLiteFailure) in
            try store.removeList(list)
            try store.changeListStamp()
        }
        return .success(.list(list.record))
    }

    func change(
        _ name: String, add added: [CallerEntry], remove removed: [CallerPattern]
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        let old = list.record
        let others = try store.entryCount(except: name)
        guard added.isEmpty || others + old.entries + added.count <= limits.maximumListEntries else {
            return .failure(ListError.tooManyEntries(limits.maximumListEntries))
        }
        var count = old.entries
        var new = old
        var (rows, keys): ([Store.EntryRow], [[UInt8]]) = ([], [])
        for entry in added { rows.append(try records.row(of: entry, in: list.generation)) }
        for pattern in removed { keys.append(try records.key(ofPattern: pattern.description)) }
        try store.transaction { () throws(SQLiteFailure) in
            count -= try store.remove(keys, from: list.generation)
            count += try store.insert(rows, into: list.generation)
            // The list is no longer equal to its source, so it has no ETag. The source stays.
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
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError> {
        guard let list = try store.list(named: name) else { return .failure(ListError.noList(name)) }
        let key: [UInt8]? = if let after { try records.key(ofPattern: after) } else { nil }
        let wanted = max(0, min(limit, limits.maximumAnswers))
        var (found, last): ([CallerEntry], [UInt8]?) = ([], key)
        // Rows that nobody can read any more don't count.
        while found.count < wanted {
            let rows = try store.entries(of: list.generation, after: last, limit: wanted)
            do throws(RingwakeError) {
                found += try records.readable(rows, in: list.generation)
            } catch {
                return .failure(error)
            }
            guard rows.count == wanted, let next = rows.last?.key else { break }
            last = next
        }
        return .success(.entries(Array(found.prefix(wanted))))
    }
}
