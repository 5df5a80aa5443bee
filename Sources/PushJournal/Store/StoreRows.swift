internal import RingwakeCore

/// What `Statement` binds and reads of a push and of a call, column by column in the order of `Schema`.
nonisolated enum StoreRows {
    // MARK: - Writing

    static func bind(_ push: PushRecord, sequence: Int64, times: BootTimes, to statement: Statement) {
        statement.bind(sequence)
        statement.bind(push.apnsID)
        statement.bind(push.app.rawValue)
        statement.bind(push.topic.rawValue)
        statement.bind(push.environment.rawValue)
        statement.bind(push.team)
        statement.bind(Int64(push.priority.rawValue))
        statement.bind(push.collapseID)
        statement.bind(push.call.rawValue)
        statement.bind(push.outcome.rawValue)
        statement.bind(times.boot)
        statement.bind(push.receivedAt.nanoseconds)
        statement.bind(push.receivedWallClock ?? times.wallClock(at: push.receivedAt))
        statement.bind(nil as Int64?)
    }

    static func bind(_ call: CallRecord, times: BootTimes, to statement: Statement) {
        let received = call.receivedAt
        statement.bind(call.number)
        statement.bind(call.key.app.rawValue)
        statement.bind(call.key.id.rawValue)
        statement.bind(call.topic.rawValue)
        statement.bind(call.environment.rawValue)
        statement.bind(call.team)
        statement.bind(call.apnsID)
        statement.bind(times.boot)
        statement.bind(received.nanoseconds)
        statement.bind(call.receivedWallClock ?? times.wallClock(at: received))
        statement.bind((call.isMissed ? 1 : 0) as Int64)
        statement.bind(call.state.rawValue)
        statement.bind(call.reason?.rawValue)
        statement.bind(call.detail)
        statement.bind(call.update.caller)
        statement.bind(call.update.callerName)
        statement.bind(call.update.hasVideo.map { $0 ? 1 : 0 })
        statement.bind(Int64(call.attempt))
        statement.bind(call.ringBefore.offset(from: received))
        statement.bind((call.isOneAttempt ? 1 : 0) as Int64)
        statement.bind(call.ringTime.saturatingNanoseconds)
        for stage in stages { statement.bind(call.time(of: stage)?.offset(from: received)) }
        statement.bind(call.update.identifiedAs)
        statement.bind(call.restriction?.rawValue)
    }

    /// The stages that have a column, in the columns' order; `received` is where the others count from.
    private static let stages: [TimelineEntry.Stage] = [
        .verified, .journaled, .woke, .reported, .rang, .answered, .connected, .audioActive, .hungUp, .ended,
    ]

    // MARK: - Reading

    /// A push and, if the row has one, its call.
    /// - Returns: Nil when the row holds something that no version writes.
    static func push(of row: Statement, times: BootTimes) -> JournaledPush? {
        let sequence = row.integer()
        let apnsID = row.text()
        let app = AppID(row.text())
        let topic = Topic(row.text())
        let environment = PushEnvironment(rawValue: row.text())
        let team = row.text()
        let priority = PushPriority(rawValue: Int(truncatingIfNeeded: row.integer()))
        let collapseID = row.optionalText()
        let call = CallID(row.text())
        let outcome = PushOutcome(rawValue: row.text())
        let boot = row.integer()
        let receivedBoot = row.integer()
        let receivedWall = row.integer()
        let journaled = row.optionalInteger()
        guard let app, let environment, let priority, let outcome else { return nil }
        let arrival = times.arrival(
            boot: boot, receivedBoot: receivedBoot, receivedWall: receivedWall, lastOffset: journaled ?? 0)
        var record = PushRecord(
            apnsID: apnsID, app: app, topic: topic, environment: environment, team: team, priority: priority,
            collapseID: collapseID, receivedAt: arrival.at, call: call, outcome: outcome)
        record.receivedWallClock = receivedWall
        return JournaledPush(
            sequence: sequence, push: record, receivedWallClock: receivedWall,
            journaledAt: journaled.map(arrival.at.advanced(byOffset:)),
            call: self.call(of: row, times: times)?.journaled)
    }

    /// A call as it was read.
    struct Call {
        let journaled: JournaledCall
        let isTimeKnown: Bool
    }

    /// A call.
    /// - Returns: Nil when the row holds something that no version writes, or when a join found none.
    static func call(of row: Statement, times: BootTimes) -> Call? {
        guard let number = row.optionalInteger(), CallRecord.numbers.contains(number) else { return nil }
        let app = AppID(row.text())
        let id = CallID(row.text())
        let topic = Topic(row.text())
        let environment = PushEnvironment(rawValue: row.text())
        let team = row.text()
        let apnsID = row.text()
        let boot = row.integer()
        let receivedBoot = row.integer()
        let receivedWall = row.integer()
        // What is missed follows from the rest.
        _ = row.integer()
        let state = CallStateMachine.State.Name(rawValue: row.text())
        let reasonText = row.optionalText()
        let reason = reasonText.flatMap(CallEndReason.init(rawValue:))
        let detail = row.optionalText()
        var update = CallUpdate(
            caller: row.optionalText(), callerName: row.optionalText(), hasVideo: row.optionalInteger().map { $0 != 0 })
        let attempt = min(Int(clamping: row.integer()), CallRecord.attempts.upperBound)
        let ringBefore = row.integer()
        let isOneAttempt = row.integer() != 0
        let ringTime = Duration.nanoseconds(row.integer())
        let offsets = stages.map { (stage: $0, offset: row.optionalInteger()) }
        update.identifiedAs = row.optionalText()
        let restrictionText = row.optionalText()
        let restriction = restrictionText.flatMap(Restriction.Kind.init(rawValue:))
        guard let app, let environment, let state, (reason == nil) == (reasonText == nil),
            (restriction == nil) == (restrictionText == nil)
        else { return nil }

        let lastOffset = offsets.compactMap(\.offset).max() ?? 0
        let arrival = times.arrival(
            boot: boot, receivedBoot: receivedBoot, receivedWall: receivedWall, lastOffset: lastOffset)
        // A stable sort: what happened at one instant stays in the order of the stages.
        let timeline =
            [TimelineEntry(.received, at: arrival.at)]
            + offsets.compactMap { entry in
                entry.offset.map { TimelineEntry(entry.stage, at: arrival.at.advanced(byOffset: $0)) }
            }
            .sorted { $0.at < $1.at }
        var record = CallRecord(
            number: number, key: CallKey(app: app, id: id), topic: topic, environment: environment, team: team,
            apnsID: apnsID, state: state, reason: reason, detail: detail, update: update, attempt: attempt,
            ringBefore: arrival.at.advanced(byOffset: ringBefore), isOneAttempt: isOneAttempt, ringTime: ringTime,
            timeline: timeline)
        record.restriction = restriction
        record.receivedWallClock = receivedWall
        return Call(
            journaled: JournaledCall(record: record, receivedWallClock: receivedWall), isTimeKnown: arrival.isKnown)
    }
}
