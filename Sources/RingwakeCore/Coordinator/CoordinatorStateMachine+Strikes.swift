// Strikes: what an app's handlers did not do, and when they are not started any more.
extension CoordinatorStateMachine {
    /// A handler did not do its part in this call.
    mutating func strike(_ failure: HandlerFailure, in call: Call, at now: BootInstant) -> [Effect] {
        let app = call.key.app
        var record = strikeRecords[app] ?? StrikeRecord()
        let isNew = record.add(Strike(at: now, failure: failure, call: call.key.id), call.policy.strikes)
        strikeRecords[app] = record
        noteChange(of: app)
        guard isNew else { return [.strike(call.key, failure)] }
        newlyStruckOut.append(app)
        return [.strike(call.key, failure), .struckOut(app, true)]
    }

    /// Calls that wait for a handler of an app that has just been struck out get none.
    mutating func withholdWaiting(at now: BootInstant) -> [Effect] {
        let apps = newlyStruckOut
        newlyStruckOut = []
        return apps.flatMap { app in
            (lanes[app]?.waiting ?? []).flatMap { key -> [Effect] in
                guard let call = active[key], case .queued = call.machine.state else { return [] }
                return withhold(call, at: now)
            }
        }
    }

    /// The call's handler is not started: the daemon makes the call ring, or it is missed.
    mutating func withhold(_ call: Call, at now: BootInstant) -> [Effect] {
        let app = call.key.app
        let count = strikeRecords[app]?.strikes.count ?? 0
        let detail =
            "its app's handler is not started any more after \(count) strikes; "
            + "'ringwake app clear-strikes \(app)' gives it another chance"
        return doWithoutHandler(call, detail, at: now)
    }

    /// Nobody came for these calls, and nobody can be started: that is no strike.
    mutating func fallBackUnattended(_ app: AppID, at now: BootInstant) -> [Effect] {
        (lanes[app]?.waiting ?? []).flatMap { key -> [Effect] in
            guard let call = active[key], case .queued = call.machine.state else { return [] }
            let detail =
                "no handler of its app kept a connection within \(call.machine.deadlines.report), and none is started"
            return doWithoutHandler(call, detail, at: now)
        }
    }

    private mutating func doWithoutHandler(_ call: Call, _ detail: String, at now: BootInstant) -> [Effect] {
        let app = call.key.app
        let fallback = fallback(for: call)
        // It waits no longer, whatever becomes of it.
        _ = lanes[app]?.ended(call.key, of: nil, at: now)
        let effects = settle(call.key, at: now) { machine throws(CallStateMachine.Refusal) in
            try machine.withhold(fallback, detail, at: now)
        }
        if lanes[app]?.isEmpty == true { lanes[app] = nil }
        return effects
    }

    mutating func restoreStrikes(_ strikes: [Strike], of app: AppID, isStruckOut: Bool) -> [Effect] {
        guard !strikes.isEmpty || isStruckOut else { return [] }
        strikeRecords[app] = StrikeRecord(strikes: strikes, isStruckOut: isStruckOut)
        return []
    }

    /// The owner forgives the app's handler. What was withheld meanwhile stays so.
    mutating func clearStrikes(of app: AppID, at now: BootInstant) -> [Effect] {
        guard let record = strikeRecords.removeValue(forKey: app) else { return [] }
        noteChange(of: app)
        return (record.isStruckOut ? [.struckOut(app, false)] : []) + startWaiting(of: app, at: now)
    }
}

/// An app's strikes.
struct StrikeRecord: Hashable, Sendable {
    /// The most strikes that are kept of an app.
    static let maximum = 64
    /// As many are kept, for whoever looks, where fewer or none lead to anything.
    static let minimum = 8

    /// Those that counted when the last one came, the oldest first.
    private(set) var strikes: [Strike]
    /// Its handlers are not started any more, until somebody clears the strikes.
    private(set) var isStruckOut: Bool

    init(strikes: [Strike] = [], isStruckOut: Bool = false) {
        self.strikes = strikes.suffix(StrikeRecord.maximum)
        self.isStruckOut = isStruckOut
    }

    /// True when the app is struck out with this one.
    mutating func add(_ strike: Strike, _ limit: StrikeLimit) -> Bool {
        let begin = strike.at.advanced(by: .zero - limit.window)
        strikes.removeAll { $0.at <= begin }
        strikes.append(strike)
        let kept = max(StrikeRecord.minimum, min(limit.count, StrikeRecord.maximum))
        if strikes.count > kept { strikes.removeFirst(strikes.count - kept) }
        guard !isStruckOut, limit.count > 0, strikes.count >= min(limit.count, StrikeRecord.maximum) else {
            return false
        }
        isStruckOut = true
        return true
    }
}
