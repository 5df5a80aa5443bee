internal import DataProtection
internal import Database
internal import RingwakeCore

/// Processes the requests on lists of callers on the journal's thread, one after the other, in small steps. A push that
/// arrives meanwhile waits for at most one step.
nonisolated final class ListWorker {
    private let store: Store
    private let limits: JournalLimits
    private let edits: ListEdits
    private var imports: ListImports
    private let mailbox: JournalMailbox
    /// The queue, in order; requests before `position` are done.
    private var queue: [ListWork] = []
    private var position = 0
    /// The progress of the request at `position`.
    private var progress = Progress.none
    /// Answers that are sent after the commit.
    private var answers: [JournalAnswer] = []
    /// The last build of the index, which has its own thread.
    private var build: IndexBuild?
    private var isCollected = false

    private enum Progress {
        case none
        case adding(ListImports.Adding)
        case reading(IndexReading)
    }

    init(store: Store, mailbox: JournalMailbox, limits: JournalLimits) {
        self.store = store
        self.mailbox = mailbox
        self.limits = limits
        edits = ListEdits(store: store, limits: limits)
        imports = ListImports(store: store, limits: limits)
    }

    func take(_ work: [ListWork]) {
        queue.removeFirst(position)
        position = 0
        queue += work
    }

    /// The outcome of a step.
    enum Step {
        /// There is nothing to do, or nothing can be done until the mailbox is notified.
        case idle
        /// Progress was made.
        case taken
    }

    /// Whether a request is queued.
    var hasWork: Bool { position < queue.count }

    /// Takes one step: a transaction, or a read.
    /// - Parameter lock: the class of entries that can't be written again with the present keys now.
    /// - Throws: the error of SQLite; no request has been answered.
    func step(lock: ProtectionClass?) throws(SQLiteFailure) -> Step {
        guard hasWork else { return .idle }
        let work = queue[position]
        if work.request.needsEntries,
            let error = ListRecords(vault: store.vault).objection ?? lock.map(ListError.locked)
        {
            end(work, .failure(error))
            return .taken
        }
        switch work.request {
        case .command(let command): if let result = try run(command) { end(work, result.map { .result($0) }) }
        case .rebuildIndex(let path, let rules): return try rebuildIndex(path, rules, work)
        }
        return .taken
    }

    /// - Returns: nil if another step is needed.
    private func run(
        _ command: CallerListCommand
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError>? {
        switch command {
        case .all: .success(.lists(try store.lists().map(\.record)))
        case .create(let name, let kind): try edits.create(name, kind)
        case .remove(let name): try edits.remove(name)
        case .change(let name, let added, let removed): try edits.change(name, add: added, remove: removed)
        case .entries(let name, let after, let limit): try edits.entries(name, after: after, limit: limit)
        case .beginImport(let name, let kind): try imports.begin(into: name, kind, edits)
        case .append(let entries, let id): try append(entries, to: id)
        case .finishImport(let id, let etag, let source): try imports.finish(id, etag: etag, source: source, edits)
        case .abortImport(let id): imports.abort(id)
        }
    }

    /// The answers of the steps since the last call.
    func takeAnswers() -> [JournalAnswer] {
        defer { answers = [] }
        return answers
    }

    /// Adds what a build that is over has shown of the entries to the vault.
    func collectFindings() {
        guard let build, build.isOver, !isCollected else { return }
        isCollected = true
        store.vault.note(build.findings)
    }

    /// Fails all queued requests.
    func failAll(_ error: RingwakeError) {
        while position < queue.count { end(queue[position], .failure(error)) }
    }

    /// The journal closes: fails the queued requests and starts nothing more.
    func close() {
        failAll(ListError.closed)
        build?.cancel()
    }

    private func finishTurn() {
        position += 1
        progress = .none
    }

    private func end(_ work: ListWork, _ result: Result<ListAnswer, RingwakeError>) {
        if case .reading = progress { build?.abandon() }
        finishTurn()
        answers.append(.list(ticket: work.ticket, result))
    }

    private func append(
        _ entries: [CallerEntry], to id: CallerListImport.ID
    ) throws(SQLiteFailure) -> Result<CallerListResult, RingwakeError>? {
        var adding = if case .adding(let adding) = progress { adding } else { ListImports.Adding(entries) }
        let result = try imports.append(&adding, to: id)
        progress = .adding(adding)
        return result
    }

    // MARK: - Building the index

    private func rebuildIndex(
        _ path: String, _ rules: DiallingRules, _ work: ListWork
    ) throws(SQLiteFailure) -> Step {
        guard case .reading(var reading) = progress, let build else {
            // One build at a time.
            guard build?.isOver != false else { return .idle }
            let order = IndexBuild.Order(
                path: path, generation: try store.listStamp(), rules: rules, keys: store.vault.ring)
            progress = .reading(IndexReading(lists: try store.lists()))
            do throws(RingwakeError) {
                build = try IndexBuild.start(order, mailbox: mailbox, ticket: work.ticket)
                isCollected = false
            } catch {
                end(work, .failure(error))
            }
            return .taken
        }
        // The build is over before it has everything only if it failed.
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
