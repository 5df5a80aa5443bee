internal import Database
internal import RingwakeCore

/// The imports in progress: entries that will replace those of a list.
nonisolated struct ListImports {
    /// The entries of one request to add to an import; those before `next` have been added.
    struct Adding {
        /// In the order of the patterns, so that neighbours share a page if their keys are the patterns. Entries with the
        /// same pattern stay in order.
        fileprivate let entries: [CallerEntry]
        fileprivate var next = 0

        init(_ entries: [CallerEntry]) {
            self.entries = entries.map { (pattern: $0.pattern.description, entry: $0) }.enumerated()
                .sorted { ($0.element.pattern, $0.offset) < ($1.element.pattern, $1.offset) }
                .map(\.element.entry)
        }
    }

    /// An import in progress.
    private struct Import {
        let list: String
        let kind: CallerListKind
        /// The generation of its entries.
        let generation: Int64
        var entries = 0
        /// The highest key so far.
        var last: [UInt8] = []
        /// When it was last used.
        var movedAt: BootInstant

        func described(_ id: CallerListImport.ID) -> CallerListImport {
            CallerListImport(id: id, list: list, entries: entries)
        }
    }

    private let store: Store
    private let limits: JournalLimits
    private var imports: [CallerListImport.ID: Import] = [:]

    init(store: Store, limits: JournalLimits) {
        self.store = store
        self.limits = limits
    }

    /// An import that is idle for longer is aborted when another one begins: its client is gone.
    private static let longestStandstill = Duration.seconds(600)

    mutating func begin(
        into name: String, _ kind: CallerListKind?, _ edits: ListEdits
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError> {
        let list = try store.list(named: name)?.record
        if let list, let kind, kind != list.kind { return .failure(ListError.otherKind(list)) }
        if list == nil, let error = try edits.objection(toName: name) { return .failure(error) }
        let now = store.clocks.boot()
        let older = imports.filter {
            $0.value.list == name || $0.value.movedAt.duration(to: now) > Self.longestStandstill
        }
        guard imports.count - older.count < limits.maximumImports else {
            return .failure(ListError.tooManyImports(limits.maximumImports))
        }
        let generation = try store.nextGeneration()
        // Until the import is finished, a restart removes its entries.
        try store.transaction { () throws(SQLiteFailure) in try store.addRemains(generation) }
        for (id, superseded) in older { forget(id, superseded) }
        let id = String(UInt64.random(in: .min ... .max), radix: 36)
        let begun = Import(list: name, kind: kind ?? list?.kind ?? .block, generation: generation, movedAt: now)
        imports[id] = begun
        store.liveImports.insert(generation)
        return .success(.listImport(begun.described(id)))
    }

    /// Adds the next entries.
    /// - Returns: nil while there are more.
    mutating func append(
        _ adding: inout Adding, to id: CallerListImport.ID
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError>? {
        guard var found = imports[id] else { return .failure(ListError.noImport(id)) }
        let entries = adding.entries[adding.next...]
        let records = ListRecords(vault: store.vault)
        let first = try entries.first.map { (entry) throws(SQLiteFailure) in
            try records.key(ofPattern: entry.pattern.description)
        }
        // Hashes have another order than the patterns, so all of them are.
        let isScattered =
            records.isHashed || first.map { $0.lexicographicallyPrecedes(found.last) || $0 == found.last } == true
        let slice = entries.prefix(isScattered ? limits.scatteredListStep : limits.listStep)
        // Other imports may finish first.
        let importing = imports.values.reduce(0) { $0 + $1.entries } - found.entries
        let others = try store.entryCount(except: found.list) + importing
        guard others + found.entries + slice.count <= limits.maximumListEntries else {
            return .failure(ListError.tooManyEntries(limits.maximumListEntries))
        }
        var (added, rows): (Int, [Store.EntryRow]) = (0, [])
        for entry in slice { rows.append(try records.row(of: entry, in: found.generation)) }
        do throws(SQLiteFailure) {
            try store.transaction { () throws(SQLiteFailure) in
                added = try store.insert(rows, into: found.generation)
            }
        } catch {
            // This import may have filled the disk.
            forget(id, found)
            throw error
        }
        found.entries += added
        if let last = rows.last?.key, found.last.lexicographicallyPrecedes(last) { found.last = last }
        found.movedAt = store.clocks.boot()
        imports[id] = found
        adding.next = slice.endIndex
        return slice.endIndex < adding.entries.count ? nil : .success(.listImport(found.described(id)))
    }

    mutating func finish(
        _ id: CallerListImport.ID, etag: String?, source: String?, _ edits: ListEdits
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError> {
        guard let finished = imports[id] else { return .failure(ListError.noImport(id)) }
        let old = try store.list(named: finished.list)
        if let old, old.record.kind != finished.kind { return .failure(ListError.otherKind(old.record)) }
        if old == nil, let error = try edits.objection(toName: finished.list) { return .failure(error) }
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

    mutating func abort(_ id: CallerListImport.ID) -> Result<CallerListResult, RingwakeError> {
        guard let aborted = imports[id] else { return .failure(ListError.noImport(id)) }
        forget(id, aborted)
        return .success(.listImport(aborted.described(id)))
    }

    /// Drops the import. Its entries are removed when the journal is idle.
    private mutating func forget(_ id: CallerListImport.ID, _ dropped: Import) {
        imports[id] = nil
        store.liveImports.remove(dropped.generation)
        store.hasRemains = true
    }
}
