package import RingwakeCore

extension PushMessage {
    /// A push from the journal.
    ///
    /// - Parameters:
    ///   - instant: when it became durable, if known.
    ///   - receivedAt: arrival time: ``UTCTime`` as text.
    ///   - call: its call in its present state; nil if the call is unknown.
    package init(_ push: PushRecord, durableAt instant: BootInstant?, receivedAt: String, call: CallRecord?) {
        let isStarter =
            call.map {
                $0.pushID.lowercased() == push.pushID.lowercased() && $0.provenance.sender == push.provenance.sender
            } ?? false
        let durable = instant.map {
            Hop(stage: TimelineEntry.Stage.journaled.rawValue, atUs: push.receivedAt.microseconds(until: $0))
        }
        let own = [Hop(stage: TimelineEntry.Stage.received.rawValue, atUs: 0)]
        self.init(
            pushId: push.pushID, app: push.app.rawValue, topic: push.provenance.topic?.rawValue,
            environment: push.provenance.environment?.rawValue, team: push.provenance.sender,
            priority: push.priority.rawValue,
            collapseId: push.collapseID, call: push.call.rawValue, outcome: push.outcome.rawValue,
            state: State(of: push.outcome, call).rawValue, reason: call?.reason?.rawValue, detail: call?.detail,
            restriction: call?.restrictionMessage, attempt: call?.attempt ?? 0, receivedAt: receivedAt,
            timeline: (isStarter ? call?.hops ?? [] : own).adding(durable))
    }

    /// The push of a call that isn't in the journal.
    ///
    /// - Parameter receivedAt: arrival time: ``UTCTime`` as text.
    package init(notDurable call: Call, receivedAt: String) {
        let record = call.record
        self.init(
            pushId: call.pushID, app: call.key.app.rawValue, topic: call.provenance.topic?.rawValue,
            environment: call.provenance.environment?.rawValue, team: call.provenance.sender,
            call: call.key.id.rawValue, outcome: PushOutcome.started.rawValue, state: State.accepted.rawValue,
            reason: record.reason?.rawValue, detail: record.detail, attempt: call.attempt, receivedAt: receivedAt,
            timeline: record.hops)
    }
}

extension PushMessage.State {
    /// The state of a durable push.
    package init(of outcome: PushOutcome, _ call: CallRecord?) {
        if outcome == .withheld {
            self = .withheld
            return
        }
        guard let call else {
            // The journal doesn't have the call, or not any more. Only the push's effect at its arrival is known.
            switch outcome {
            case .started, .updated: self = .journaled
            case .expired: self = .expired
            case .restricted: self = .restricted
            case .withheld: self = .withheld
            case .replaced: self = .replaced
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
        case .answering, .connected, .held, .dialling, .connecting: self = .answered
        // The user has ended the call, and its handler is cleaning up.
        case .ending: self = .ended
        case .ended:
            switch call.reason {
            case .expired: self = .expired
            case .cancelled: self = .cancelled
            case .restricted, .blocked: self = .restricted
            case .replaced: self = .replaced
            default: self = call.isMissed ? .missed : .ended
            }
        }
    }
}

extension [Hop] {
    /// Inserts `hop` in order, unless its stage is present: a call that ended before its push was durable is stored
    /// without that stage.
    fileprivate func adding(_ hop: Hop?) -> [Hop] {
        guard let hop, !contains(where: { $0.stage == hop.stage }) else { return self }
        let place = firstIndex { $0.atUs > hop.atUs } ?? endIndex
        return self[..<place] + [hop] + self[place...]
    }
}
