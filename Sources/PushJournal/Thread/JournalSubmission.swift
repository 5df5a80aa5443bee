internal import RingwakeCore

/// A record of a call, and how new it is: a higher revision is a newer record.
nonisolated struct RevisedCall: Sendable {
    let record: CallRecord
    let revision: UInt64
}

/// What the loop asks of the journal's thread; it is done in the order of asking.
nonisolated enum JournalWork: Sendable {
    case push(ticket: UInt64, PushRecord, payloads: [CallPayload], call: RevisedCall?)
    case ring(ticket: UInt64, RevisedCall)
    case keep(ticket: UInt64, RevisedState)
    case barrier(ticket: UInt64)
    case readPushes(ticket: UInt64, PushQuery)
    case readCalls(ticket: UInt64, CallQuery)
    case close
}

/// What is submitted at once. Records of calls and rows of state are written with the first commit of the work.
nonisolated struct JournalSubmission: Sendable {
    /// What is to be done, in order.
    var work: [JournalWork] = []
    /// What is asked of the lists of callers, in order; beside the rest.
    var lists: [ListWork] = []
    /// The records and rows that are to be written with the next commit.
    var records = JournalRecords()
    /// Whether a commit is to be made for the records.
    var isUrgent = false

    var isEmpty: Bool { work.isEmpty && lists.isEmpty && records.isEmpty && !isUrgent }

    mutating func merge(_ call: RevisedCall, limits: JournalLimits) {
        records.merge(call, limits: limits)
    }

    mutating func merge(_ state: RevisedState, limits: JournalLimits) {
        records.merge(state, limits: limits)
    }

    mutating func setAside(_ path: String, reason: String, limits: JournalLimits) {
        records.setAside(path, reason: reason, limits: limits)
    }

    /// Adds what was submitted later.
    mutating func merge(_ more: JournalSubmission, limits: JournalLimits) {
        work += more.work
        lists += more.lists
        records.merge(more.records, limits: limits)
        isUrgent = isUrgent || more.isUrgent
    }
}

/// Records of calls and rows of state that wait for a commit: the newest of each.
nonisolated struct JournalRecords: Sendable {
    private(set) var calls: [Int64: RevisedCall] = [:]
    private(set) var states: [String: RevisedState] = [:]
    /// Rows of state that are to be set aside before anything is written, and why.
    private(set) var asides: [String: String] = [:]
    private var stateBytes = 0
    /// Calls and rows that found no room.
    private(set) var droppedCalls = 0
    private(set) var droppedStates = 0

    /// How many there are.
    var count: Int { calls.count + states.count + asides.count }

    /// Whether there is nothing to write, and nothing to say.
    var isEmpty: Bool { count == 0 && droppedCalls == 0 && droppedStates == 0 }

    /// Takes over a record unless it has a newer one.
    ///
    /// Beyond the limit a call that is not among them is given up: it came later, so the journal is less likely to
    /// have it.
    mutating func merge(_ call: RevisedCall, limits: JournalLimits) {
        if let known = calls[call.record.number] {
            if known.revision < call.revision { calls[call.record.number] = call }
        } else if calls.count < limits.maximumWaiting {
            calls[call.record.number] = call
        } else {
            droppedCalls += 1
        }
    }

    /// Takes over a row unless it has a newer one of that path. Beyond the limit it is given up.
    mutating func merge(_ state: RevisedState, limits: JournalLimits) {
        let known = states[state.path]
        if let known, known.revision > state.revision { return }
        let bytes = stateBytes - (known?.bytes ?? 0) + state.bytes
        guard known != nil || states.count < limits.maximumStates, bytes <= limits.maximumStatesBytes else {
            droppedStates += 1
            return
        }
        states[state.path] = state
        stateBytes = bytes
    }

    /// Has a row set aside. Beyond the limit it stays where it is, and is met again at the next start.
    mutating func setAside(_ path: String, reason: String, limits: JournalLimits) {
        if asides.count < limits.maximumStates { asides[path] = reason }
    }

    /// Adds what was submitted later.
    mutating func merge(_ more: JournalRecords, limits: JournalLimits) {
        for call in more.calls.values { merge(call, limits: limits) }
        for state in more.states.values { merge(state, limits: limits) }
        for (path, reason) in more.asides { setAside(path, reason: reason, limits: limits) }
        droppedCalls += more.droppedCalls
        droppedStates += more.droppedStates
    }

    /// What was given up, to be said once.
    mutating func takeDropped() -> [JournalAnswer] {
        defer { (droppedCalls, droppedStates) = (0, 0) }
        return (droppedCalls > 0 ? [.droppedCalls(droppedCalls)] : [])
            + (droppedStates > 0 ? [.droppedStates(droppedStates)] : [])
    }

    /// A commit has taken them.
    mutating func removeAll(keepingCapacity isCapacityKept: Bool) {
        calls.removeAll(keepingCapacity: isCapacityKept)
        states.removeAll(keepingCapacity: isCapacityKept)
        asides = [:]
        stateBytes = 0
    }
}

/// What the journal's thread answers.
nonisolated enum JournalAnswer: Sendable {
    case opened(Result<JournalContents, RingwakeError>)
    case push(ticket: UInt64, Result<PushVerdict, RingwakeError>)
    case ring(ticket: UInt64, Result<RingVerdict, RingwakeError>)
    /// Of a row of state, and of a barrier.
    case kept(ticket: UInt64, Result<Void, RingwakeError>)
    case list(ticket: UInt64, Result<ListAnswer, RingwakeError>)
    case pushes(ticket: UInt64, Result<[JournaledPush], RingwakeError>)
    case calls(ticket: UInt64, Result<[JournaledCall], RingwakeError>)
    /// A transaction was committed, or the error with which it failed, and how many records wait for another one;
    /// before the answers that rest on it.
    case committed(RingwakeError?, waitingRecords: Int)
    /// The log could not be moved into the store, or old rows could not be removed.
    case untidy(RingwakeError)
    /// That many rows held something that no version writes, and were passed over.
    case unreadable(rows: Int)
    /// That many records of calls were given up, because too many waited for a disk that fails.
    case droppedCalls(Int)
    /// That many rows of state were given up: too many waited, or the store holds as much as it may.
    case droppedStates(Int)
    /// A row of state was set aside.
    case setAside(path: String, reason: String)
    /// The store is closed and the thread ends.
    case ended
}
