/// The journal's record of a call, in one row: its state when the row was written, and its history.
package struct CallRecord: Hashable, Sendable {
    /// Its number in the journal: unique, and higher than those of earlier calls.
    package var number: Int64
    /// The call's key on this device.
    package var key: CallKey
    /// The sender of its push, and how the push came in.
    package var provenance: Provenance
    /// The id of the push that started it.
    package var pushID: String
    /// The collapse id of the push that started it.
    package var collapseID: String?
    /// Its state.
    package var state: CallStateMachine.State.Name
    /// Why it ended, or why it is ending.
    package var reason: CallEndReason?
    /// More about the end, for a person.
    package var detail: String?
    /// The rule that kept it from ringing; `detail` then says more.
    package var restriction: Restriction.Kind?
    /// What is known about the caller.
    package var update: CallUpdate
    /// How often a handler was woken for the call; 0 while it is queued.
    package var attempt: Int
    /// It must not start to ring at this instant or later.
    package var ringBefore: BootInstant
    /// Whether the user calls an emergency number.
    package var isEmergency = false
    /// Whether its sender wants one attempt: the call is not delivered again after a restart.
    package var isOneAttempt: Bool
    /// The maximum time that it rings.
    package var ringTime: Duration
    /// When its push arrived, in milliseconds since 1970 by the wall clock at that time; nil if the clock was not read.
    /// For display only: no decision depends on it.
    package var receivedWallClock: Int64?
    /// What happened, in order. The first entry is the push's arrival.
    package var timeline: [TimelineEntry]
    /// The progress of the call; nil once it has ended, and if only the data of the call log is needed.
    package var progress: CallProgress?

    /// The range of call numbers: larger than any device needs, and far from overflow.
    package static let numbers: ClosedRange<Int64> = 1...(1 << 62)
    /// The range of the number of handlers that got a call.
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

    /// When its first push arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// When it reached `stage`; nil if it never did.
    package func time(of stage: TimelineEntry.Stage) -> BootInstant? {
        timeline.first { $0.stage == stage }?.at
    }

    /// Whether it has rung. It must not ring again then.
    package var hasRung: Bool { time(of: .rang) != nil }

    /// Whether it may have rung: the ring was requested, and begins as soon as this record is durable.
    package var mayHaveRung: Bool { hasRung || (state == .confirmed && progress?.retryAt == nil) }

    /// Whether its row is the first that the journal gets of it: no push brings it there.
    package var isAddedByWrite: Bool { isOutgoing || hasRung || state == .ended }

    /// When the ring was requested, if the record doesn't yet say that it began.
    var ringRequestedAt: BootInstant? {
        guard !hasRung, mayHaveRung, let progress, let until = progress.until else { return nil }
        return receivedAt.advanced(byOffset: until).advanced(by: .nanoseconds(-progress.reportTime))
    }

    /// Whether the call belongs in the list of missed calls: it ended, and nobody answered or declined it on any
    /// device. A call that this device began never does.
    package var isMissed: Bool { state == .ended && !isOutgoing && timeline.isMissed(reason) }

    /// Whether the user of this device began it.
    package var isOutgoing: Bool { provenance.door == .device }
}

extension [TimelineEntry] {
    /// Whether a call with these entries that ended for `reason` was missed.
    func isMissed(_ reason: CallEndReason?) -> Bool {
        // What the app or a rule answered, and nobody was connected to, no person has noticed.
        reason?.isMissed == true && !contains { $0.stage == .connected || ($0.stage == .answered && $0.by == nil) }
    }
}
