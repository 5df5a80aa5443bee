/// The facts about a call in a push's payload, as far as the app maps them. Untrusted text.
package struct PushFacts: Hashable, Sendable {
    /// The call's id; nil if the payload has none: then the push's id is the call id.
    package var call: CallID?
    /// The caller, the name to show, and whether the call has video.
    package var update = CallUpdate()
    /// The end reason if the push cancels its call; nil otherwise.
    package var cancel: CallEndReason?
    /// When the call began at the sender, by the age that the payload states; never later than its arrival. No wall
    /// clock of the sender decides whether a call rings.
    package var sentAt: BootInstant?
    /// How far the sender's wall clock is behind this device's; negative if it is ahead. For people: no decision depends
    /// on it.
    package var clockBehind: Duration?
    /// The sender's wish for the ring time.
    package var ringTime: Duration?

    package init(
        call: CallID? = nil, update: CallUpdate = CallUpdate(), cancel: CallEndReason? = nil,
        sentAt: BootInstant? = nil, clockBehind: Duration? = nil, ringTime: Duration? = nil
    ) {
        self.call = call
        self.update = update
        self.cancel = cancel
        self.sentAt = sentAt
        self.clockBehind = clockBehind
        self.ringTime = ringTime
    }

    /// The range of ring times that a payload may request. Other values are clamped to it.
    package static let ringTimes: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
}
