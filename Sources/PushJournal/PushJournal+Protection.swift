package import DataProtection
package import RingwakeCore
internal import RunLoop

/// What can be read of the protected rows with the present keys.
package nonisolated struct ProtectedRows: Sendable {
    /// The state of apps.
    package var states: [StateRow] = []
    /// The paths of state that can't be read now, with the class that keeps from it.
    package var lockedStates: [String: ProtectionClass] = [:]
    /// Who called, by the numbers of the calls that have not ended, or ended lately.
    package var callers: [Int64: CallUpdate] = [:]
}

extension PushJournal {
    /// Replaces the keys of what is protected. What the new ring lacks is overwritten in memory as soon as the journal's
    /// thread has ended its present step. Records that have other keys than the present ones of their classes are written
    /// again while nothing else is to do; ``onRekeyed`` then says so.
    package func use(_ keys: KeyRing) {
        guard !isClosed else { return }
        gathered.keys = keys
        scheduleSubmission()
    }

    /// Reads what is protected, after the keys of ``use(_:)`` are in force.
    /// - Parameter completion: called later, from the loop.
    package func readProtected(completion: @escaping (Result<ProtectedRows, RingwakeError>) -> Void) {
        guard !isClosed, waiting.reads < limits.maximumWaitingReads else {
            let error = isClosed ? closedError : readsError
            return runLoop.enqueue { completion(.failure(error)) }
        }
        submit(.readProtected(ticket: waiting.addRead(completion)))
    }
}
