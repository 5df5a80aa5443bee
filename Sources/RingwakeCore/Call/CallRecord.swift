/// What the journal keeps of a call, in one row: where it stood when this was written, and how it came there.
package struct CallRecord: Hashable, Sendable {
    /// Its number in the journal: unique, and higher than those of earlier calls.
    package var number: Int64
    /// Its name on this device.
    package var key: CallKey
    /// Who sent its push, by which door.
    package var provenance: Provenance
    /// The id of the push that started it.
    package var pushID: String
    /// Where it stands.
    package var state: CallStateMachine.State.Name
    /// Why it ended, or why it is ending.
    package var reason: CallEndReason?
    /// More on the end, for a person.
    package var detail: String?
    /// Which rule kept it out; `detail` then says more.
    package var restriction: Restriction.Kind?
    /// What is known of the caller.
    package var update: CallUpdate
    /// How often a handler was woken for it; 0 while it waits for its turn.
    package var attempt: Int
    /// It must not start to ring at this instant or later.
    package var ringBefore: BootInstant
    /// Its sender wants one attempt: it is not delivered again after a restart.
    package var isOneAttempt: Bool
    /// How long it rings, at most.
    package var ringTime: Duration
    /// When its push arrived by the wall clock, in milliseconds since 1970, as it stood then; nil where nobody
    /// looked. For people to read: nothing is decided by it.
    package var receivedWallClock: Int64?
    /// What happened, in order; the first entry is the push's arrival.
    package var timeline: [TimelineEntry]
    /// Where it stands in detail; nil once it has ended, and where only the call log's part is of interest.
    package var progress: CallProgress?

    /// The numbers that calls get: more than a device takes in its life, and far from where counting ends.
    package static let numbers: ClosedRange<Int64> = 1...(1 << 62)
    /// How often a call may have been given to a handler.
    package static let attempts = 0...Int(Int32.max)

    package init(
        number: Int64, key: CallKey, provenance: Provenance, pushID: String, state: CallStateMachine.State.Name,
        reason: CallEndReason?, detail: String?, update: CallUpdate, attempt: Int, ringBefore: BootInstant,
        isOneAttempt: Bool, ringTime: Duration, timeline: [TimelineEntry]
    ) {
        self.number = number
        self.key = key
        self.provenance = provenance
        self.pushID = pushID
        self.state = state
        self.reason = reason
        self.detail = detail
        self.update = update
        self.attempt = attempt
        self.ringBefore = ringBefore
        self.isOneAttempt = isOneAttempt
        self.ringTime = ringTime
        self.timeline = timeline
    }

    /// When the push that started it arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// When it reached `stage`; nil when it never did.
    package func time(of stage: TimelineEntry.Stage) -> BootInstant? {
        timeline.first { $0.stage == stage }?.at
    }

    /// Whether somebody has been disturbed by it: then it must not ring again.
    package var hasRung: Bool { time(of: .rang) != nil }

    /// Whether it may have rung: the ring was requested, and it rings as soon as this is durable.
    package var mayHaveRung: Bool { hasRung || (state == .confirmed && progress?.retryAt == nil) }

    /// When the ring was requested of which the record doesn't say yet that it began.
    var ringRequestedAt: BootInstant? {
        guard !hasRung, mayHaveRung, let progress, let until = progress.until else { return nil }
        return receivedAt.advanced(byOffset: until).advanced(by: .nanoseconds(-progress.reportTime))
    }

    /// Whether it belongs into the list of missed calls: it ended, and nobody answered or declined it anywhere.
    package var isMissed: Bool { state == .ended && timeline.isMissed(reason) }
}

extension [TimelineEntry] {
    /// Whether a call with these entries that ended for `reason` was missed.
    func isMissed(_ reason: CallEndReason?) -> Bool {
        reason?.isMissed == true && !contains { $0.stage == .answered }
    }
}
