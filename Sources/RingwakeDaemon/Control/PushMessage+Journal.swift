internal import ControlProtocol
internal import PushJournal
internal import RingwakeCore

nonisolated extension PushMessage {
    /// A push that the journal has.
    ///
    /// - Parameter call: its call as it stands now; nil when nothing has it any more.
    init(_ journaled: JournaledPush, call: CallRecord?) {
        let push = journaled.push
        let isStarter = call.map { $0.apnsID.lowercased() == push.apnsID.lowercased() && $0.team == push.team } ?? false
        self.init(
            apnsId: push.apnsID, app: push.app.rawValue, topic: push.topic.rawValue,
            environment: push.environment.rawValue, team: push.team, priority: push.priority.rawValue,
            collapseId: push.collapseID, call: push.call.rawValue, outcome: push.outcome.rawValue,
            state: State(of: push.outcome, call).rawValue, reason: call?.reason?.rawValue, detail: call?.detail,
            restriction: call?.restrictionMessage, attempt: call?.attempt ?? 0,
            receivedAt: UTCTime(milliseconds: journaled.receivedWallClock).description,
            timeline: isStarter ? (call?.hops ?? []).adding(journaled.durableHop) : journaled.hops)
    }

    /// The push of a call that the journal has not got.
    init(notDurable call: Call, _ clock: WallTimes) {
        let record = call.record
        self.init(
            apnsId: call.apnsID, app: call.key.app.rawValue, topic: call.topic.rawValue,
            environment: call.environment.rawValue, team: call.team, priority: nil, collapseId: nil,
            call: call.key.id.rawValue, outcome: PushOutcome.started.rawValue, state: State.accepted.rawValue,
            reason: record.reason?.rawValue, detail: record.detail, attempt: call.attempt,
            receivedAt: clock.arrival(of: call), timeline: record.hops)
    }
}

nonisolated extension PushMessage.State {
    /// How far a durable push has come.
    init(of outcome: PushOutcome, _ call: CallRecord?) {
        if outcome == .withheld {
            self = .withheld
            return
        }
        guard let call else {
            // The journal no longer has the call, or never had one: what the push did at its arrival is all there is.
            switch outcome {
            case .started, .updated: self = .journaled
            case .expired: self = .expired
            case .restricted: self = .restricted
            case .withheld: self = .withheld
            case .cancelled: self = .cancelled
            case .duplicate, .tooLate: self = .ended
            }
            return
        }
        switch call.state {
        case .queued: self = .journaled
        case .woken: self = .woken
        case .reported, .confirmed: self = .reported
        case .ringing: self = .ringing
        case .answering, .connected, .held: self = .answered
        // The user has done with it, and its handler clears up.
        case .ending: self = .ended
        case .ended:
            switch call.reason {
            case .expired: self = .expired
            case .cancelled: self = .cancelled
            case .restricted, .blocked: self = .restricted
            default: self = call.isMissed ? .missed : .ended
            }
        }
    }
}

nonisolated extension JournaledPush {
    /// When it was durable, if that is known.
    fileprivate var durableHop: Hop? {
        journaledAt.map {
            Hop(stage: TimelineEntry.Stage.journaled.rawValue, atUs: push.receivedAt.microseconds(until: $0))
        }
    }

    /// What happened to the push itself.
    fileprivate var hops: [Hop] {
        [Hop(stage: TimelineEntry.Stage.received.rawValue, atUs: 0)].adding(durableHop)
    }
}

extension [Hop] {
    /// The same with `hop` in its place, unless its stage is there: a call that ended before its push was durable is
    /// written down without that stage.
    fileprivate nonisolated func adding(_ hop: Hop?) -> [Hop] {
        guard let hop, !contains(where: { $0.stage == hop.stage }) else { return self }
        let place = firstIndex { $0.atUs > hop.atUs } ?? endIndex
        return self[..<place] + [hop] + self[place...]
    }
}
