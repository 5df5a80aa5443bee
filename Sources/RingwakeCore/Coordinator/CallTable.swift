/// The calls of this device by key: those in progress, and the last ones that ended.
///
/// A key is in `active` or in `finished`, never in both. Each call in `active` has not ended and has a deadline.
struct CallTable: Hashable, Sendable {
    /// The calls that have not ended.
    private(set) var active: [CallKey: Call] = [:]
    /// The keys of the active calls that no longer wait for their handler's report: the few that may need audio.
    /// Queries after each event use these, so that they need not look at every call.
    private var reported: Set<CallKey> = []
    /// The calls that ended last, the oldest first.
    private(set) var finished: [Call] = []
    /// The number of the next call.
    private(set) var nextNumber: Int64
    /// The earliest deadline of a call, as of the last ``findDeadline()``.
    private(set) var nextDeadline: BootInstant?

    private var activeOfApp: [AppID: Int] = [:]
    private var finishedIndex: [CallKey: Int] = [:]
    private var finishedDropped = 0
    /// Whether the deadline of the call behind `nextDeadline` has changed.
    private var isDeadlineStale = false
    private let maximumFinished: Int

    init(firstNumber: Int64, maximumFinished: Int) {
        nextNumber = firstNumber
        self.maximumFinished = maximumFinished
    }

    /// The call with this key, in progress or among the last that ended.
    subscript(_ key: CallKey) -> Call? {
        active[key] ?? finishedIndex[key].map { finished[$0 - finishedDropped] }
    }

    /// The calls in progress that satisfy `isIncluded`, the oldest first.
    func inOrder(_ isIncluded: (Call) -> Bool) -> [Call] {
        active.values.filter(isIncluded).sorted { $0.number < $1.number }
    }

    /// How many calls of an app are in progress.
    func activeCount(of app: AppID) -> Int { activeOfApp[app] ?? 0 }

    /// Whether one of the calls that may need audio fits.
    func containsReported(where fits: (Call) -> Bool) -> Bool {
        reported.contains { key in active[key].map(fits) ?? false }
    }

    /// The calls in progress that may need audio, the oldest first.
    var mayNeedAudio: [Call] { reported.compactMap { active[$0] }.sorted { $0.number < $1.number } }

    /// The calls whose deadlines have passed, by deadline.
    func late(at now: BootInstant) -> [Call] {
        active.values.filter { ($0.nextDeadline ?? now) <= now }.sorted {
            ($0.nextDeadline ?? now, $0.number) < ($1.nextDeadline ?? now, $1.number)
        }
    }

    /// The key of the call that a push is about. A push never refers to a call of another sender, whatever id it
    /// contains: otherwise one vendor could suppress or end another's call.
    func key(of push: VerifiedPush, _ facts: PushFacts) -> CallKey {
        let id = facts.call ?? CallID(push.pushID.canonicalPushID)
        var key = CallKey(app: push.app, id: id)
        // This loops more than once only if a team has guessed such a key. The maximum length of an id bounds the
        // number of rounds.
        while let known = self[key], known.provenance.sender != push.provenance.sender {
            key = CallKey(app: push.app, id: CallID("\(key.id)~\(push.provenance.sender)"))
        }
        return key
    }

    // MARK: - Changes

    /// The next call gets this number, or a higher one.
    mutating func skip(to number: Int64) { nextNumber = max(nextNumber, number) }

    /// Removes who called from calls that have ended.
    mutating func forgetCallers() {
        for var call in finished {
            call.forgetCaller()
            file(call)
        }
    }

    /// Adds who called to calls whose record could not be read before.
    ///
    /// - Returns: those in progress among them. An ended one is in the journal as it is.
    mutating func reveal(_ callers: [Int64: CallUpdate]) -> [Call] {
        var changed: [Call] = []
        for var call in active.values.sorted(by: { $0.number < $1.number }) + finished where call.update.lockedBy != nil
        {
            guard let known = callers[call.number] else { continue }
            call.reveal(known)
            file(call)
            if !call.machine.hasEnded { changed.append(call) }
        }
        return changed
    }

    /// Stores a call, among those in progress or those that ended.
    mutating func file(_ call: Call) {
        skip(to: call.number + 1)
        let key = call.key
        guard call.machine.hasEnded else {
            let former = active.updateValue(call, forKey: key)
            if former == nil { activeOfApp[key.app, default: 0] += 1 }
            return noteChange(of: call, from: former?.nextDeadline)
        }
        if let former = active.removeValue(forKey: key) {
            reported.remove(key)
            let others = activeCount(of: key.app) - 1
            activeOfApp[key.app] = others > 0 ? others : nil
            if former.nextDeadline == nextDeadline { isDeadlineStale = true }
        }
        if let index = finishedIndex[key] {
            finished[index - finishedDropped] = call
            return
        }
        finishedIndex[key] = finishedDropped + finished.count
        finished.append(call)
        // Drop in batches: removing the first element of an array moves all others.
        guard finished.count >= maximumFinished * 2 else { return }
        let surplus = finished.count - maximumFinished
        for call in finished.prefix(surplus) {
            finishedIndex[call.key] = nil
        }
        finished.removeFirst(surplus)
        finishedDropped += surplus
    }

    /// The journal has the push of the call of this name and number.
    mutating func noteJournaled(_ key: CallKey, number: Int64, at now: BootInstant) {
        if let index = active.index(forKey: key) {
            if active.values[index].number == number { active.values[index].note(.journaled, at: now) }
        } else if let position = finishedIndex[key] {
            let index = position - finishedDropped
            if finished[index].number == number { finished[index].note(.journaled, at: now) }
        }
    }

    /// Changes a call in progress without ending it. Nil if there is none with this key.
    @discardableResult
    mutating func change(_ key: CallKey, _ change: (inout Call) -> Void) -> Call? {
        guard let index = active.index(forKey: key) else { return nil }
        let former = active.values[index].nextDeadline
        change(&active.values[index])
        let call = active.values[index]
        noteChange(of: call, from: former)
        return call
    }

    /// - Parameter former: the call's deadline before the change; nil if the call was not in progress.
    private mutating func noteChange(of call: Call, from former: BootInstant?) {
        if call.machine.mayNeedAudio {
            reported.insert(call.key)
        } else if !reported.isEmpty {
            reported.remove(call.key)
        }
        if let deadline = call.nextDeadline, deadline <= nextDeadline ?? deadline {
            nextDeadline = deadline
        } else if former != nil, former == nextDeadline {
            isDeadlineStale = true
        }
    }

    /// Updates `nextDeadline`. Call it after each event.
    mutating func findDeadline() {
        guard isDeadlineStale else { return }
        nextDeadline = active.values.lazy.compactMap(\.nextDeadline).min()
        isDeadlineStale = false
    }
}
