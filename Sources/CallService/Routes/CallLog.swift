internal import RingwakeCore

/// One page of the call log: the journal's calls, corrected by the coordinator's newer state. The journal may lag
/// behind, or may have failed to store a call.
struct CallLog: Sendable {
    /// Only calls of this app; nil for all.
    let app: AppID?
    let missedOnly: Bool
    let page: ServiceRequest.Page
    /// How many calls to read from the journal: the page, one more to detect a next page, and the calls in progress
    /// that the journal may return.
    private let asked: Int

    init(app: AppID?, missedOnly: Bool, page: ServiceRequest.Page, whileRunning coordinator: CoordinatorStateMachine) {
        self.app = app
        self.missedOnly = missedOnly
        self.page = page
        let running = coordinator.active.values.count { app == nil || $0.key.app == app }
        asked = min(page.limit + 1 + running, JournalQueries.maximumAnswers)
    }

    /// The query to the journal.
    var query: CallQuery { CallQuery(app: app, missedOnly: missedOnly, limit: asked, before: page.before) }

    /// A call that has ended.
    enum Entry {
        case remembered(Call)
        case journaled(JournaledCall)
    }

    /// The calls in progress, the newest first.
    func running(in coordinator: CoordinatorStateMachine) -> [Call] {
        coordinator.active.values.filter(isOfApp).sorted { $0.number > $1.number }
    }

    /// The page, the newest first.
    ///
    /// - Parameter result: the journal's answer to ``query``. After a failure, the page has only the calls that the
    ///   coordinator remembers.
    /// - Returns: the entries, the start of the next page, and why some may be missing.
    func page(
        of result: Result<[JournaledCall], RingwakeError>, and coordinator: CoordinatorStateMachine
    ) -> (entries: [Entry], next: Int64?, incomplete: String?) {
        let (rows, incomplete): ([JournaledCall], String?) =
            switch result {
            case .success(let rows): (rows, nil)
            case .failure(let error): ([], error.message)
            }
        var found: [Int64: Entry] = [:]
        for row in rows where coordinator.call(row.record.key)?.number != row.record.number {
            found[row.record.number] = .journaled(row)
        }
        // If the rows don't reach the end of the log, older calls are for a later page.
        let isWhole = rows.count < asked
        let oldest = isWhole ? 0 : rows.last?.record.number ?? 0
        for call in coordinator.finished where isOfApp(call) && call.number >= oldest {
            if let before = page.before, call.number >= before { continue }
            if missedOnly, !call.record.isMissed { continue }
            found[call.number] = .remembered(call)
        }
        let numbers = found.keys.sorted(by: >)
        let shown = numbers.prefix(page.limit)
        let hasMore = numbers.count > shown.count
        let next = hasMore ? shown.last : isWhole ? nil : rows.last?.record.number
        return (shown.compactMap { found[$0] }, next, incomplete)
    }

    private func isOfApp(_ call: Call) -> Bool { app == nil || call.key.app == app }
}
