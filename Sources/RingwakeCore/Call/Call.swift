/// One call of one app: its state machine and what is known of it.
package struct Call: Hashable, Sendable {
    /// Its name on this device.
    package let key: CallKey
    /// The `apns-id` of the push that started it.
    package let apnsID: String
    /// Which attempt to wake a handler this is, from 1.
    package let attempt: Int
    /// Where it stands.
    package internal(set) var machine: CallStateMachine
    /// What the handler reported.
    package internal(set) var update = CallUpdate()
    /// The handler's process, while it runs.
    package internal(set) var handler: Int32?
    /// What happened, in order.
    package private(set) var timeline: [TimelineEntry]

    init(push: VerifiedPush, id: CallID, machine: CallStateMachine) {
        key = CallKey(app: push.app, id: id)
        apnsID = push.apnsID
        attempt = 1
        self.machine = machine
        timeline = [
            TimelineEntry(.received, at: push.receivedAt), TimelineEntry(.verified, at: push.verifiedAt),
        ]
    }

    /// When the push that started it arrived.
    package var receivedAt: BootInstant { timeline.first?.at ?? BootInstant(nanoseconds: 0) }

    /// Adds to the timeline. Each stage stands there at most once, so it is bounded by the number of stages.
    mutating func note(_ stage: TimelineEntry.Stage, at now: BootInstant) {
        guard !timeline.contains(where: { $0.stage == stage }) else { return }
        timeline.append(TimelineEntry(stage, at: now))
    }
}
