package import RingwakeCore
internal import RunLoop

/// Lists of callers.
///
/// What is asked here is done in the order of asking, beside the pushes: in small transactions, between which the
/// pushes that have come meanwhile are written. All completions are called later, from the loop.
extension PushJournal {
    /// All lists, by name.
    package func lists(completion: @escaping (Result<[CallerListRecord], RingwakeError>) -> Void) {
        ask(.lists, completion) { if case .lists(let lists) = $0 { lists } else { nil } }
    }

    /// Makes a list without entries, or finds the one that is there.
    /// - Parameters:
    ///   - kind: Nil: the kind that it has, or `block`.
    ///   - completion: `conflict` when it is of another kind, `invalidRequest` for a name that is empty or longer than
    ///     64 bytes, `limitReached` when there are as many lists as may be.
    package func createList(
        _ name: String, kind: CallerListKind?,
        completion: @escaping (Result<CallerListRecord, RingwakeError>) -> Void
    ) {
        ask(.create(list: name, kind), completion, Self.list)
    }

    /// Removes a list with its entries.
    /// - Parameter completion: What it was; `notFound` when it is not there.
    package func removeList(
        _ name: String, completion: @escaping (Result<CallerListRecord, RingwakeError>) -> Void
    ) {
        ask(.remove(list: name), completion, Self.list)
    }

    /// Adds entries to a list and removes others, all or nothing.
    /// - Parameters:
    ///   - added: Up to `JournalLimits.maximumListChange` together with `removed`. One whose pattern is there gives
    ///     it its label.
    ///   - removed: One that is not there is passed over; one that is also added is there afterwards.
    ///   - completion: The list as it is then; `notFound`, or `limitReached`.
    package func changeEntries(
        of list: String, add added: [CallerEntry], remove removed: [CallerPattern],
        completion: @escaping (Result<CallerListRecord, RingwakeError>) -> Void
    ) {
        let request = ListRequest.change(list: list, add: added, remove: removed)
        ask(request, entries: added.count + removed.count, completion, Self.list)
    }

    /// Reads entries by the text of their patterns.
    /// - Parameters:
    ///   - after: The pattern of the last entry of the page before.
    ///   - limit: How many at most; more than `JournalLimits.maximumAnswers` counts as that.
    ///   - completion: `notFound` when there is no such list.
    package func entries(
        of list: String, after: String?, limit: Int,
        completion: @escaping (Result<[CallerEntry], RingwakeError>) -> Void
    ) {
        ask(.entries(list: list, after: after, limit: limit), completion) {
            if case .entries(let entries) = $0 { entries } else { nil }
        }
    }

    // MARK: - Imports

    /// Begins to collect entries that are to take the place of a list's. The list stays as it is until the import is
    /// finished; it need not be there. An import into the same list that goes on is aborted, and so is one that has
    /// stood still for ten minutes; at the next start each that was not finished is gone.
    /// - Parameters:
    ///   - kind: Nil: the kind that the list has, or `block`.
    ///   - completion: As of ``createList(_:kind:completion:)``.
    package func beginImport(
        into list: String, kind: CallerListKind?,
        completion: @escaping (Result<CallerListImport, RingwakeError>) -> Void
    ) {
        ask(.beginImport(list: list, kind), completion, Self.listImport)
    }

    /// Adds entries to an import; of those with the same pattern the last one counts. Sorted by the text of their
    /// patterns they cost the disk far less. When the disk fails the import is aborted.
    /// - Parameters:
    ///   - entries: Up to `JournalLimits.maximumImportPiece`.
    ///   - completion: `notFound` when there is no such import, `limitReached` when there are more entries than may be,
    ///     or too much waits: then try again later.
    package func append(
        _ entries: [CallerEntry], to id: CallerListImport.ID,
        completion: @escaping (Result<CallerListImport, RingwakeError>) -> Void
    ) {
        ask(.append(id, entries), entries: entries.count, completion, Self.listImport)
    }

    /// Puts the entries of an import in the place of those of its list, all at once.
    /// - Parameter completion: The list as it is then; `notFound` when there is no such import, `conflict` when the list
    ///   has become one of another kind.
    package func finishImport(
        _ id: CallerListImport.ID, etag: String?, source: String?,
        completion: @escaping (Result<CallerListRecord, RingwakeError>) -> Void
    ) {
        ask(.finishImport(id, etag: etag, source: source), completion, Self.list)
    }

    /// Gives an import up; its list stays as it was.
    /// - Parameter completion: What it was; `notFound` when there is no such import.
    package func abortImport(
        _ id: CallerListImport.ID, completion: @escaping (Result<CallerListImport, RingwakeError>) -> Void
    ) {
        ask(.abortImport(id), completion, Self.listImport)
    }

    // MARK: - The index

    /// Builds the index of all lists (``CallerIndex``) as they are when it is this request's turn, on a thread of its
    /// own, and puts it in the place of the one that is there. Its `generation` is then that of the lists.
    /// - Parameters:
    ///   - path: The index; its directory takes what the building needs.
    ///   - completion: How many entries it has; an error of `CallerIndexBuilder` leaves the old index in place.
    package func rebuildIndex(
        at path: String, rules: DiallingRules,
        completion: @escaping (Result<Int, RingwakeError>) -> Void
    ) {
        ask(.rebuildIndex(path: path, rules), completion) { if case .index(let summary) = $0 { summary } else { nil } }
    }

    // MARK: - Asking

    private func ask<Value>(
        _ request: ListRequest, entries: Int = 0, _ completion: @escaping (Result<Value, RingwakeError>) -> Void,
        _ read: @escaping (ListAnswer) -> Value?
    ) {
        if let error = isClosed ? closedError : objection(toEntries: entries, request) {
            return runLoop.enqueue { completion(.failure(error)) }
        }
        let ticket = waiting.addList(entries: entries) { result in
            completion(
                result.flatMap { answer in
                    guard let value = read(answer) else { return .failure(ListError.unexpectedAnswer) }
                    return .success(value)
                })
        }
        gathered.lists.append(ListWork(ticket: ticket, request: request))
        enqueueHandover()
    }

    private func objection(toEntries entries: Int, _ request: ListRequest) -> RingwakeError? {
        let maximum = if case .append = request { limits.maximumImportPiece } else { limits.maximumListChange }
        guard entries <= maximum else {
            return RingwakeError(.limitReached, "\(entries) entries at once are too many; give \(maximum) at most.")
        }
        guard waiting.lists < limits.maximumWaitingLists,
            waiting.listEntries + entries <= limits.maximumWaitingListEntries, !patience.isExhausted
        else {
            return RingwakeError(
                .limitReached, "\(waiting.lists) requests on lists of callers wait for the disk; try again later.")
        }
        return nil
    }

    private static func list(_ answer: ListAnswer) -> CallerListRecord? {
        if case .list(let list) = answer { list } else { nil }
    }

    private static func listImport(_ answer: ListAnswer) -> CallerListImport? {
        if case .listImport(let listImport) = answer { listImport } else { nil }
    }
}
