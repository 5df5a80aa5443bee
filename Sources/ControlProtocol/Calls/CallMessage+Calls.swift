package import RingwakeCore

extension CallMessage {
    /// A call that the coordinator knows, as it stands now.
    ///
    /// - Parameter receivedAt: when its push arrived: ``UTCTime`` in text.
    package init(_ call: Call, pid: Int32?, receivedAt: String, at now: BootInstant) {
        self.init(
            call.record, receivedAt: receivedAt, pid: pid,
            deadlineMs: call.machine.stateDeadline.map { now.millisecondsLeft(until: $0) })
        muted = call.machine.isMuted
        audio = call.audio.map { CallAudioMessage($0) }
        ringer = call.ringer.rawValue
        pending = call.machine.owed.map { action in
            PendingActionMessage(
                action: action.action.rawValue, digits: action.digits,
                deadlineMs: now.millisecondsLeft(until: action.by))
        }
        claimMs = call.machine.claimBy.map { now.millisecondsLeft(until: $0) }
    }

    /// A call as the journal has it.
    package init(_ call: CallRecord, receivedAt: String, pid: Int32?, deadlineMs: Int64?) {
        self.init(
            call: call.key.id.rawValue, app: call.key.app.rawValue, topic: call.provenance.topic?.rawValue,
            environment: call.provenance.environment?.rawValue, team: call.provenance.sender,
            state: call.state.rawValue,
            reason: call.reason?.rawValue, detail: call.detail, missed: call.isMissed, pushId: call.pushID,
            caller: call.update.caller, callerName: call.update.callerName, identifiedAs: call.update.identifiedAs,
            video: call.update.hasVideo ?? false, restriction: call.restrictionMessage,
            attempt: call.attempt, pid: pid, deadlineMs: deadlineMs, receivedAt: receivedAt, timeline: call.hops)
    }
}

extension CallRecord {
    /// What kept it out, as the control API shows it.
    package var restrictionMessage: RestrictionMessage? {
        restriction.map { RestrictionMessage(kind: $0.rawValue, detail: detail ?? "") }
    }

    /// Its timeline as the control API shows it.
    package var hops: [Hop] {
        timeline.map { Hop(stage: $0.stage.rawValue, atUs: receivedAt.microseconds(until: $0.at)) }
    }
}

extension BootInstant {
    /// Microseconds from this instant to another.
    package func microseconds(until other: BootInstant) -> Int64 {
        duration(to: other).saturatingNanoseconds / 1000
    }

    /// Never negative, although a deadline may be met a little late: whoever waits with poll(2) would wait for ever.
    package func millisecondsLeft(until deadline: BootInstant) -> Int64 {
        max(0, duration(to: deadline).milliseconds)
    }
}
