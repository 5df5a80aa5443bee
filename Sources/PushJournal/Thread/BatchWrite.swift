internal import Database
internal import RingwakeCore

/// The writing of work that was submitted, and of records that nobody waits for.
nonisolated struct BatchWrite {
    let store: Store
    /// They follow the batch.
    let records: JournalRecords

    /// One transaction with all of `batch` and the records.
    ///
    /// - Returns: the answers.
    func write(_ batch: ArraySlice<JournalWork>) throws(SQLiteFailure) -> [JournalAnswer] {
        var answers: [JournalAnswer] = []
        var written: [Int64: UInt64] = [:]
        var keptStates: [String: UInt64] = [:]
        var droppedStates = 0
        let times = store.writingTimes()
        try store.transaction { () throws(SQLiteFailure) in
            for (path, reason) in records.asides
            where try store.states.setAside(path, reason: reason, times: times) {
                answers.append(.setAside(path: path, reason: reason))
            }
            for work in batch {
                switch work {
                case .push(let ticket, let push, let payloads, let call, let replaced):
                    let appended = try store.append(push, payloads: payloads, call: call?.record, times: times)
                    if let call, appended.wroteCall { written[call.record.number] = call.revision }
                    if let replaced {
                        try store.write(replaced.record, times: times)
                        written[replaced.record.number] = replaced.revision
                    }
                    answers.append(.push(ticket: ticket, .success(appended.verdict)))
                case .ring(let ticket, let call):
                    let verdict = try store.appendRing(call.record, times: times)
                    if verdict == .recorded { written[call.record.number] = call.revision }
                    answers.append(.ring(ticket: ticket, .success(verdict)))
                case .keep(let ticket, let state):
                    let isKept = try store.states.keep(state, times: times)
                    if isKept { keptStates[state.path] = state.revision }
                    let error = StoreError.fullOfState(store.path)
                    answers.append(.kept(ticket: ticket, isKept ? .success(()) : .failure(error)))
                case .correctTimes(let ticket, let wall):
                    try store.correctTimes(wall)
                    answers.append(.kept(ticket: ticket, .success(())))
                case .barrier(let ticket): answers.append(.kept(ticket: ticket, .success(())))
                case .link(let ticket, let work):
                    try store.links.perform(work)
                    if let ticket { answers.append(.kept(ticket: ticket, .success(()))) }
                case .readPushes, .readCalls, .readMail, .readReport, .readProtected, .copy, .cancelCopy, .close: break
                }
            }
            for (number, call) in records.calls where call.revision > written[number] ?? 0 {
                try store.write(call.record, times: times)
            }
            for (path, state) in records.states where state.revision > keptStates[path] ?? 0 {
                if try !store.states.keep(state, times: times) { droppedStates += 1 }
            }
        }
        if droppedStates > 0 { answers.append(.droppedStates(droppedStates)) }
        return answers
    }
}
