internal import DataProtection
internal import Database
internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// Builds an index on its own thread, which ends with the build. Writing and syncing a million entries takes seconds,
/// and pushes must not wait for that. The journal's thread, which has the only connection to the store, reads the
/// entries and sends them to this thread piece by piece.
nonisolated final class IndexBuild: Sendable {
    /// The maximum number of pieces queued for the building thread.
    private static let maximumPieces = 4

    /// What to build.
    struct Order: Sendable {
        let path: String
        let generation: UInt64
        let rules: DiallingRules
        /// The keys of the entries.
        let keys: KeyRing
    }

    enum Piece: Sendable {
        /// The next entries of a list. The pieces of one list are consecutive; an empty list has one piece.
        case entries([Store.EntryRow], of: StoredList)
        /// The end of the entries.
        case end
    }

    private struct State {
        var pieces: [Piece] = []
        var isCancelled = false
        var isOver = false
        var findings = RecordFindings()
    }

    private let order: Order
    private let mailbox: JournalMailbox
    private let ticket: UInt64
    private let state = Mutex(State())
    private let bell: EventDescriptor

    private init(_ order: Order, mailbox: JournalMailbox, ticket: UInt64) throws(RingwakeError) {
        self.order = order
        self.mailbox = mailbox
        self.ticket = ticket
        do throws(RunLoopError) {
            bell = try EventDescriptor(nonblocking: false)
        } catch {
            throw RingwakeError(
                .system, "no descriptor to build the index of callers: \(error.reason); raise the limit on them.")
        }
    }

    /// Starts the thread. It answers `ticket` at its end.
    static func start(_ order: Order, mailbox: JournalMailbox, ticket: UInt64) throws(RingwakeError) -> IndexBuild {
        let build = try IndexBuild(order, mailbox: mailbox, ticket: ticket)
        do throws(RunLoopError) {
            try WorkerThread(name: "caller index") { build.run() }.detach()
        } catch {
            throw RingwakeError(
                .system, "no thread to build the index of callers: \(error.reason); raise the limit on tasks.")
        }
        return build
    }

    // MARK: - The journal's thread

    /// Whether another piece can be queued. The mailbox is notified when that changes.
    var hasRoom: Bool { state.withLock { $0.pieces.count < Self.maximumPieces || $0.isOver } }

    /// Whether its thread has ended or is about to end.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// What reading the entries has shown, once it is over.
    var findings: RecordFindings { state.withLock { $0.findings } }

    func give(_ piece: Piece) {
        state.withLock { if !$0.isOver { $0.pieces.append(piece) } }
        bell.ring()
    }

    /// Ends the build, whose request has its answer already.
    func abandon() {
        state.withLock { $0.isCancelled = true }
        bell.ring()
    }

    /// Cancels the build. The old index stays unless it has already been replaced. The request fails with the error
    /// that the journal is closed.
    func cancel() {
        let wasOver = state.withLock { state in
            defer { state.isCancelled = true }
            return state.isOver
        }
        // If the building thread answers as well, the ticket is no longer known.
        if !wasOver { answer(.failure(ListError.closed)) }
        bell.ring()
    }

    // MARK: - The building thread

    private func run() {
        do throws(RingwakeError) {
            if let entries = try build() { answer(.success(.index(entries))) }
        } catch {
            answer(.failure(error))
        }
        state.withLock {
            $0.isOver = true
            $0.pieces = []
        }
        mailbox.nudge()
    }

    private func answer(_ result: Result<ListAnswer, RingwakeError>) {
        mailbox.answer([.list(ticket: ticket, result)])
    }

    /// - Returns: nil if the build was cancelled.
    private func build() throws(RingwakeError) -> Int? {
        let records = ListRecords(vault: RecordVault(order.keys))
        let builder = try CallerIndexBuilder(
            replacing: order.path, generation: order.generation, rules: order.rules, keys: order.keys)
        defer { state.withLock { $0.findings = records.vault.findings } }
        var name: String?
        while let piece = nextPiece() {
            guard case .entries(let rows, let list) = piece else { return try builder.finish() }
            if list.record.name != name { try builder.beginList(list.record.name, kind: list.record.kind) }
            name = list.record.name
            for entry in try records.readable(rows, in: list.generation) { try builder.add(entry) }
        }
        return nil
    }

    /// Waits for a piece.
    /// - Returns: nil if the build is cancelled.
    private func nextPiece() -> Piece? {
        while true {
            let (piece, isCancelled) = state.withLock {
                ($0.pieces.isEmpty ? nil : $0.pieces.removeFirst(), $0.isCancelled)
            }
            if isCancelled { return nil }
            if let piece {
                // There is room for another piece.
                mailbox.nudge()
                return piece
            }
            bell.hear()
        }
    }
}

/// The progress of reading the lists for an index.
nonisolated struct IndexReading {
    /// The lists that have not been read completely.
    private var lists: ArraySlice<StoredList>
    private var lastKey: [UInt8]?

    init(lists: [StoredList]) {
        self.lists = lists[...]
    }

    /// Reads up to `limit` entries of one list.
    mutating func next(_ store: Store, limit: Int) throws(SQLiteFailure) -> IndexBuild.Piece {
        guard let list = lists.first else { return .end }
        let rows = try store.entries(of: list.generation, after: lastKey, limit: limit)
        lastKey = rows.last?.key
        if rows.count < limit {
            lists.removeFirst()
            lastKey = nil
        }
        return .entries(rows, of: list)
    }
}
