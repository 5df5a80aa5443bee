internal import Logging
package import RingwakeCore
internal import RunLoop

/// State that outlives the process: small rows by path.
///
/// Rows of one turn of the loop are submitted with the pushes and records of that turn, and written with the first of
/// them. So a row is never older than a push that was submitted with it. If that push was refused, the row may be
/// stored without it.
extension PushJournal {
    /// Writes a row; it replaces all earlier ones with its path. If the commit fails, the row is written with the next
    /// one. A row that exceeds `JournalLimits` is dropped, and that is logged.
    /// - Parameter data: nil removes the row.
    package func keep(_ data: [UInt8]?, version: Int, at path: String, _ urgency: WriteUrgency) {
        guard !isClosed else { return }
        let state = revised(data, version: version, at: path)
        if let error = objection(to: state) {
            return logger.error("state not kept", metadata: ["path": "\(path)", "reason": "\(error.message)"])
        }
        gathered.records.merge(state, limits: limits)
        require(urgency)
    }

    /// Makes a row durable; it replaces all earlier ones with its path.
    /// - Parameters:
    ///   - data: nil removes the row.
    ///   - completion: called later, from the loop: when the row is durable, or with the error. After an error the row
    ///     is unchanged.
    package func keep(
        _ data: [UInt8]?, version: Int, at path: String, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        let state = revised(data, version: version, at: path)
        if let error = isClosed ? closedError : objection(to: state) ?? lackOfRoom(for: state) {
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.keep(ticket: waiting.addState(bytes: state.bytes, completion), state))
    }

    /// Sets an unreadable row aside, so that the next start does not read it. It stays in the store under `aside/`, the
    /// wall clock in milliseconds, and its path. The newest 32 rows are kept, for 30 days. A row that is kept at the
    /// path in the same turn of the loop, or later, replaces it.
    /// - Parameter reason: the reason for a person.
    package func setAside(_ path: String, reason: String) {
        guard !isClosed, StatePath.isUsable(path) else { return }
        gathered.records.setAside(path, reason: reason, limits: limits)
        require(.now)
    }

    private func revised(_ data: [UInt8]?, version: Int, at path: String) -> RevisedState {
        RevisedState(path: path, version: version, data: data, at: clocks.boot(), revision: nextRevision())
    }

    private func objection(to state: RevisedState) -> RingwakeError? {
        guard StatePath.isUsable(state.path) else {
            return RingwakeError(.invalidRequest, "\"\(state.path)\" is no path that state can be kept at.")
        }
        guard state.bytes <= limits.maximumStateBytes else {
            return RingwakeError(
                .limitReached,
                "\(state.bytes) bytes of state are too many; \(limits.maximumStateBytes) can be kept.")
        }
        return nil
    }

    private func lackOfRoom(for state: RevisedState) -> RingwakeError? {
        guard waiting.states < limits.maximumStates, waiting.stateBytes + state.bytes <= limits.maximumStatesBytes,
            !timeouts.isSilent
        else {
            return RingwakeError(
                .limitReached, "\(waiting.states) pieces of state wait for the disk of \(path); try again later.")
        }
        return nil
    }
}
