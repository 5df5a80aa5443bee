internal import DataProtection
internal import RingwakeCore
internal import StoreMigration

/// A record of a call with its revision: a higher one is newer.
nonisolated struct RevisedCall: Sendable {
    let record: CallRecord
    let revision: UInt64
}

/// A request to the journal's thread. Requests are processed in order.
nonisolated enum JournalWork: Sendable {
    /// A push, and what goes with it. Indirect, as the next one: it passes through four queues, and its records have
    /// hundreds of bytes.
    indirect case push(
        ticket: UInt64, PushRecord, payloads: [CallPayload], call: RevisedCall?, replaced: RevisedCall?)
    indirect case ring(ticket: UInt64, RevisedCall)
    case keep(ticket: UInt64, RevisedState)
    case barrier(ticket: UInt64)
    /// The wall clock is right, and it is this, in milliseconds since 1970: what is newer is from a clock that was
    /// ahead.
    case correctTimes(ticket: UInt64, wall: Int64)
    /// A change of linked devices or their waiting pushes; without a ticket nobody waits for it.
    indirect case link(ticket: UInt64?, LinkWork)
    case readMail(ticket: UInt64, [MailRowKey])
    case readPushes(ticket: UInt64, PushQuery)
    case readCalls(ticket: UInt64, CallQuery)
    case readReport(ticket: UInt64)
    case readProtected(ticket: UInt64, since: Int64?)
    /// Copies the store into this file.
    case copy(number: UInt64, String)
    case cancelCopy
    case close
}

nonisolated extension JournalWork {
    /// Whether it is committed together with others.
    var isWrite: Bool {
        switch self {
        case .push, .ring, .keep, .barrier, .correctTimes, .link: true
        case .readPushes, .readCalls, .readMail, .readReport, .readProtected, .copy, .cancelCopy, .close: false
        }
    }

    /// The answer if its transaction failed.
    func answer(failing error: RingwakeError) -> JournalAnswer? {
        switch self {
        case .push(let ticket, _, _, _, _): .push(ticket: ticket, .failure(error))
        case .ring(let ticket, _): .ring(ticket: ticket, .failure(error))
        case .keep(let ticket, _), .barrier(let ticket), .correctTimes(let ticket, _):
            .kept(ticket: ticket, .failure(error))
        case .link(let ticket, _): ticket.map { .kept(ticket: $0, .failure(error)) }
        case .readMail(let ticket, _): .mail(ticket: ticket, .failure(error))
        case .readReport(let ticket): .report(ticket: ticket, .failure(error))
        case .readProtected(let ticket, _): .protected(ticket: ticket, .failure(error))
        case .readPushes(let ticket, _): .pushes(ticket: ticket, .failure(error))
        case .readCalls(let ticket, _): .calls(ticket: ticket, .failure(error))
        case .copy(let number, _): .copied(number: number, .failure(error))
        case .cancelCopy, .close: nil
        }
    }
}

/// Work that is submitted together. Records of calls and rows of state are written with the first commit of the work.
nonisolated struct JournalSubmission: Sendable {
    /// The requests, in order.
    var work: [JournalWork] = []
    /// The requests on lists of callers, in order, independent of the others.
    var lists: [ListWork] = []
    /// The records and rows to write with the next commit.
    var records = JournalRecords()
    /// Whether the records need a commit now.
    var isUrgent = false
    /// The keys from now on; nil: as before. They are in force before the work.
    var keys: KeyRing?

    var isEmpty: Bool { work.isEmpty && lists.isEmpty && records.isEmpty && !isUrgent && keys == nil }

    /// Adds later work.
    mutating func merge(_ more: JournalSubmission, limits: JournalLimits) {
        work += more.work
        lists += more.lists
        records.merge(more.records, limits: limits)
        isUrgent = isUrgent || more.isUrgent
        keys = more.keys ?? keys
    }
}

/// Records of calls and rows of state that wait for a commit: the newest of each.
nonisolated struct JournalRecords: Sendable {
    private(set) var calls: [Int64: RevisedCall] = [:]
    private(set) var states: [String: RevisedState] = [:]
    /// Rows of state to set aside before anything is written, with the reason.
    private(set) var asides: [String: String] = [:]
    private var stateBytes = 0
    /// The number of calls and rows that were dropped for lack of room.
    private(set) var droppedCalls = 0
    private(set) var droppedStates = 0

    /// The number of waiting records, rows and rows to set aside.
    var count: Int { calls.count + states.count + asides.count }

    /// Whether there is nothing to write, and nothing to report.
    var isEmpty: Bool { count == 0 && droppedCalls == 0 && droppedStates == 0 }

    /// Adds a record unless there is a newer one.
    ///
    /// Beyond the limit, a call without a waiting record is dropped: it is later, so the journal is less likely to have
    /// it.
    mutating func merge(_ call: RevisedCall, limits: JournalLimits) {
        if let known = calls[call.record.number] {
            if known.revision < call.revision { calls[call.record.number] = call }
        } else if calls.count < limits.maximumWaiting {
            calls[call.record.number] = call
        } else {
            droppedCalls += 1
        }
    }

    /// Adds a row unless there is a newer one for that path. Beyond the limit the row is dropped.
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

    /// Marks a row to be set aside. Beyond the limit it stays where it is, and the next start finds it again.
    mutating func setAside(_ path: String, reason: String, limits: JournalLimits) {
        if asides.count < limits.maximumStates { asides[path] = reason }
    }

    /// Adds later records.
    mutating func merge(_ more: JournalRecords, limits: JournalLimits) {
        for call in more.calls.values { merge(call, limits: limits) }
        for state in more.states.values { merge(state, limits: limits) }
        for (path, reason) in more.asides { setAside(path, reason: reason, limits: limits) }
        droppedCalls += more.droppedCalls
        droppedStates += more.droppedStates
    }

    /// The answers that report dropped records. Each drop is reported once.
    mutating func takeDropped() -> [JournalAnswer] {
        defer { (droppedCalls, droppedStates) = (0, 0) }
        return (droppedCalls > 0 ? [.droppedCalls(droppedCalls)] : [])
            + (droppedStates > 0 ? [.droppedStates(droppedStates)] : [])
    }

    /// A commit has written them.
    mutating func removeAll(keepingCapacity isCapacityKept: Bool) {
        calls.removeAll(keepingCapacity: isCapacityKept)
        states.removeAll(keepingCapacity: isCapacityKept)
        asides = [:]
        stateBytes = 0
    }
}

/// An answer of the journal's thread.
nonisolated enum JournalAnswer: Sendable {
    /// The store is being migrated, and how far that is. It comes before `opened`.
    case migrating(MigrationProgress)
    /// The store is open, or the first attempt has failed.
    case opened(Result<JournalContents, StoreOpeningFailure>)
    case push(ticket: UInt64, Result<PushVerdict, RingwakeError>)
    case ring(ticket: UInt64, Result<RingVerdict, RingwakeError>)
    /// For a row of state, a barrier, and a correction of times.
    case kept(ticket: UInt64, Result<Void, RingwakeError>)
    case list(ticket: UInt64, Result<ListAnswer, RingwakeError>)
    case pushes(ticket: UInt64, Result<[JournaledPush], RingwakeError>)
    case calls(ticket: UInt64, Result<[JournaledCall], RingwakeError>)
    case mail(ticket: UInt64, Result<MailPayloads, RingwakeError>)
    case report(ticket: UInt64, Result<StoreReport, RingwakeError>)
    case protected(ticket: UInt64, Result<ProtectedRows, RingwakeError>)
    /// All records have the present key of their class in this ring; so many were written again, and so many entries of lists
    /// removed, because nobody can read them any more.
    case rekeyed(rows: Int, removed: Int, keys: KeyRing)
    /// What reading records has shown, and what it had shown before.
    case found(RecordFindings, former: RecordFindings)
    /// So much of the store has been copied; and the end of copying.
    case copying(number: UInt64, percent: Int)
    case copied(number: UInt64, Result<Void, RingwakeError>)
    /// A transaction was committed or failed, with its error, and the number of records that still wait. It precedes
    /// the answers that depend on the transaction.
    case committed(RingwakeError?, waitingRecords: Int)
    /// The log could not be moved into the store, or old rows could not be removed.
    case untidy(RingwakeError)
    /// This many rows were skipped, because they have values that no version writes.
    case unreadable(rows: Int)
    /// This many records of calls were dropped, because too many waited for a failing disk.
    case droppedCalls(Int)
    /// This many rows of state were dropped: too many waited, or the store holds as much as allowed.
    case droppedStates(Int)
    /// The store was damaged, and a new one with what could be read has replaced it; what happened, for a person.
    case replaced([String])
    /// The disk is full, and this many of the oldest pushes and calls were removed for new ones.
    case gaveWay(Int)
    /// A row of state was set aside.
    case setAside(path: String, reason: String)
    /// The store is closed and the thread ends.
    case ended
}
