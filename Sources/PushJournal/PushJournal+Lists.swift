package import RingwakeCore
internal import RunLoop

/// Lists of callers.
///
/// Requests are processed in order, in small transactions. Between these, the journal writes the pushes that have
/// arrived meanwhile. All completions are called later, from the loop.
extension PushJournal {
    /// Runs a command on the lists.
    /// - Parameter completion: `limitReached` if the command has more entries than `JournalLimits` allow, or if too
    ///   many requests wait: try again later. `notFound` if there is no such list or import.
    package func lists(
        _ command: CallerListCommand, completion: @escaping (Result<CallerListResult, RingwakeError>) -> Void
    ) {
        ask(.command(command), completion) { if case .result(let result) = $0 { result } else { nil } }
    }

    // MARK: - The index

    /// Builds the index of all lists (``CallerIndex``) as of this request's turn, on a separate thread, and replaces
    /// the existing index. The index has the generation of the lists.
    /// - Parameters:
    ///   - path: the index; temporary files go into its directory.
    ///   - completion: the number of its entries; after an error of `CallerIndexBuilder` the old index stays.
    package func rebuildIndex(
        at path: String, rules: DiallingRules,
        completion: @escaping (Result<Int, RingwakeError>) -> Void
    ) {
        ask(.rebuildIndex(path: path, rules), completion) { if case .index(let summary) = $0 { summary } else { nil } }
    }

    // MARK: - Requests

    private func ask<Value>(
        _ request: ListRequest, _ completion: @escaping (Result<Value, RingwakeError>) -> Void,
        _ read: @escaping (ListAnswer) -> Value?
    ) {
        let entries = if case .command(let command) = request { command.entryCount } else { 0 }
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
        scheduleSubmission()
    }

    private func objection(toEntries entries: Int, _ request: ListRequest) -> RingwakeError? {
        let maximum =
            if case .command(.append) = request { limits.maximumImportPiece } else { limits.maximumListChange }
        guard entries <= maximum else {
            return RingwakeError(.limitReached, "\(entries) entries at once are too many; give \(maximum) at most.")
        }
        guard waiting.lists < limits.maximumWaitingLists,
            waiting.listEntries + entries <= limits.maximumWaitingListEntries, !timeouts.isSilent
        else {
            return RingwakeError(
                .limitReached, "\(waiting.lists) requests on lists of callers wait for the disk; try again later.")
        }
        return nil
    }
}
