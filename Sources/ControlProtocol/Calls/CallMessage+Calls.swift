package import RingwakeCore

extension CallMessage {
    /// An active call in its present state.
    ///
    /// - Parameters:
    ///   - receivedAt: arrival time of its push: ``UTCTime`` as text.
    ///   - deadline: when its present state ends, if nothing happens; nil: never.
    package init(_ call: Call, pid: Int32?, receivedAt: String, deadline: BootInstant?, at now: BootInstant) {
        self.init(
            call.record, receivedAt: receivedAt, pid: pid, deadlineMs: deadline.map { now.millisecondsLeft(until: $0) })
        muted = call.machine.isMuted
        audio = call.audio.map { CallAudioMessage($0) }
        ringer = call.ringer.rawValue
        pending = call.machine.owed.map { action in
            PendingActionMessage(
                action: action.action.rawValue, digits: action.digits, with: action.with?.rawValue,
                deadlineMs: now.millisecondsLeft(until: action.by))
        }
        conference = call.conference
        claimMs = call.machine.claimBy.map { now.millisecondsLeft(until: $0) }
    }

    /// A call from the journal.
    package init(_ call: CallRecord, receivedAt: String, pid: Int32?, deadlineMs: Int64?) {
        self.init(
            call: call.key.id.rawValue, app: call.key.app.rawValue, outgoing: call.isOutgoing ? true : nil,
            topic: call.provenance.topic?.rawValue, environment: call.provenance.environment?.rawValue,
            team: call.isOutgoing ? nil : call.provenance.sender, state: call.state.rawValue,
            reason: call.reason?.rawValue, detail: call.detail, missed: call.isMissed,
            pushId: call.isOutgoing ? nil : call.pushID,
            caller: call.update.caller, callerName: call.update.callerName, identifiedAs: call.update.identifiedAs,
            lockedBy: call.update.lockedBy?.rawValue,
            video: call.update.hasVideo ?? false,
            supportsHold: call.update.supportsHold == false ? false : nil,
            supportsDTMF: call.update.supportsDTMF == false ? false : nil,
            supportsMerge: call.update.supportsMerge == true ? true : nil, restriction: call.restrictionMessage,
            attempt: call.attempt, pid: pid, deadlineMs: deadlineMs, receivedAt: receivedAt, timeline: call.hops)
    }
}

extension CallRecord {
    /// What kept it out, as a message.
    package var restrictionMessage: RestrictionMessage? {
        restriction.map { RestrictionMessage(kind: $0.rawValue, detail: detail ?? "") }
    }

    /// Its timeline, as messages.
    package var hops: [Hop] {
        timeline.map { entry in
            Hop(
                stage: entry.stage.rawValue, atUs: receivedAt.microseconds(until: entry.at),
                by: entry.by?.rawValue)
        }
    }
}

extension BootInstant {
    /// Microseconds from this instant to another.
    package func microseconds(until other: BootInstant) -> Int64 {
        duration(to: other).saturatingNanoseconds / 1000
    }

    /// Never negative, although a deadline may fire a little late: a client that passes it to poll(2) would wait
    /// forever.
    package func millisecondsLeft(until deadline: BootInstant) -> Int64 {
        max(0, duration(to: deadline).milliseconds)
    }
}
