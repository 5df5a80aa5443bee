internal import RingwakeCore

/// Serves the requests on lists of callers on the journal's thread: one after the other, each in small steps, so that a
/// push that arrives meanwhile waits for one step only.
nonisolated final class ListWorker {
    let store: Store
    let limits: JournalLimits
    private let mailbox: JournalMailbox
    /// The queue, in order; done up to `position`.
    private var queue: [ListWork] = []
    private var position = 0
    /// How far the request at `position` is.
    private var progress = Progress.none
    var imports: [CallerListImport.ID: Import] = [:]
    /// Answers that are sent after the commit.
    private var answers: [JournalAnswer] = []
    /// The last build of the index, which has a thread of its own.
    private var build: IndexBuild?

    enum Progress {
        case none
        /// Entries that are to be added to an import, sorted; done up to `next`.
        case adding(rows: [Store.EntryRow], next: Int)
        case reading(IndexReading)
    }

    /// An import in progress.
    struct Import {
        let list: String
        let kind: CallerListKind
        /// The generation that its entries have.
        let generation: Int64
        var entries = 0
        /// The highest pattern so far.
        var last = ""
        /// When it was used last.
        var movedAt: BootInstant
    }

    init(store: Store, mailbox: JournalMailbox, limits: JournalLimits) {
        self.store = store
        self.mailbox = mailbox
        self.limits = limits
    }

    func take(_ work: [ListWork]) {
        queue.removeFirst(position)
        position = 0
        queue += work
    }

    /// The outcome of a step.
    enum Step {
        /// Nothing to do, or nothing can be done before the mailbox rings.
        case idle
        /// Progress was made.
        case taken
    }

    /// Whether a request is queued.
    var hasWork: Bool { position < queue.count }

    /// Takes one step: a transaction, or a read.
    /// - Throws: As SQLite says; nobody has been answered.
    func step() throws(SQLiteFailure) -> Step {
        guard hasWork else { return .idle }
        let work = queue[position]
        switch work.request {
        case .lists: end(work, .success(.lists(try store.lists().map(\.record))))
        case .create(let name, let kind): end(work, try create(name, kind))
        case .remove(let name): end(work, try remove(name))
        case .change(let name, let added, let removed): end(work, try change(name, add: added, remove: removed))
        case .entries(let name, let after, let limit): end(work, try entries(name, after: after, limit: limit))
        case .beginImport(let name, let kind): end(work, try beginImport(name, kind))
        case .append(let id, let entries): if let result = try append(entries, to: id) { end(work, result) }
        case .finishImport(let id, let etag, let source): end(work, try finishImport(id, etag: etag, source: source))
        case .abortImport(let id): end(work, try abortImport(id))
        case .rebuildIndex(let path, let rules): return try rebuildIndex(path, rules, work)
        }
        return .taken
    }

    /// The answers of the steps since the last call.
    func takeAnswers() -> [JournalAnswer] {
        defer { answers = [] }
        return answers
    }

    /// Fails all queued requests.
    func failAll(_ error: RingwakeError) {
        while position < queue.count { end(queue[position], .failure(error)) }
    }

    /// The journal closes: fails what is queued and starts nothing more.
    func close() {
        failAll(ListError.closed)
        build?.cancel()
    }

    private func finishTurn() {
        position += 1
        progress = .none
    }

    private func end(_ work: ListWork, _ result: Result<ListAnswer, RingwakeError>) {
        finishTurn()
        answers.append(.list(ticket: work.ticket, result))
    }

    // MARK: - Adding to an import

    private func append(
        _ entries: [CallerEntry], to id: CallerListImport.ID
    ) throws(SQLiteFailure) -> Result<ListAnswer, RingwakeError>? {
        guard var found = imports[id] else { return .failure(ListError.noImport(id)) }
        let (rows, next) = if case .adding(let rows, let next) = progress { (rows, next) } else { (sorted(entries), 0) }
        let isScattered = next < rows.count && rows[next].pattern <= found.last
        let slice = rows[next...].prefix(isScattered ? limits.scatteredListStep : limits.listStep)
        let others = try store.entryCount(except: found.list)
        guard others + found.entries + slice.count <= limits.maximumListEntries else {
            return .failure(ListError.tooManyEntries(limits.maximumListEntries))
        }
        var added = 0
        do throws(SQLiteFailure) {
            try store.transaction { () throws(SQLiteFailure) in
                added = try store.insert(slice, into: found.generation)
            }
        } catch {
            // This import may be what filled the disk.
            forget(id, found)
            throw error
        }
        found.entries += added
        found.last = max(found.last, slice.last?.pattern ?? "")
        found.movedAt = store.clocks.boot()
        imports[id] = found
        progress = .adding(rows: rows, next: slice.endIndex)
        return slice.endIndex < rows.count ? nil : .success(.listImport(found.said(id)))
    }

    /// In the order of the store, so that neighbours share a page; those of one pattern stay in their order.
    private func sorted(_ entries: [CallerEntry]) -> [Store.EntryRow] {
        entries.map(Store.EntryRow.init).enumerated()
            .sorted { ($0.element.pattern, $0.offset) < ($1.element.pattern, $1.offset) }
            .map(\.element)
    }

    // MARK: - Building the index

    private func rebuildIndex(
        _ path: String, _ rules: DiallingRules, _ work: ListWork
    ) throws(SQLiteFailure) -> Step {
        guard case .reading(var reading) = progress, let build else {
            // One build at a time.
            guard build?.isOver != false else { return .idle }
            let order = IndexBuild.Order(path: path, generation: try store.listStamp(), rules: rules)
            progress = .reading(IndexReading(lists: try store.lists()))
            do throws(RingwakeError) {
                build = try IndexBuild.start(order, mailbox: mailbox, ticket: work.ticket)
            } catch {
                end(work, .failure(error))
            }
            return .taken
        }
        // The build ends before it has everything only if it fails.
        if !build.isOver {
            guard build.hasRoom else { return .idle }
            let piece = try reading.next(store, limit: limits.listStep)
            build.give(piece)
            progress = .reading(reading)
            guard case .end = piece else { return .taken }
        }
        // The building thread answers.
        finishTurn()
        return .taken
    }
}

nonisolated extension ListWorker.Import {
    /// What is said of it.
    func said(_ id: CallerListImport.ID) -> CallerListImport {
        CallerListImport(id: id, list: list, entries: entries)
    }
}
