/// What a push's payload says of its call, as far as its app maps it. Nothing but text from a stranger.
package struct PushFacts: Hashable, Sendable {
    /// The call that the push is about; nil when it names none, and then the push's id is the call id.
    package var call: CallID?
    /// Who calls, the name to show, and whether with video.
    package var update = CallUpdate()
    /// Set when the push takes its call back: the reason that the call ends for.
    package var cancel: CallEndReason?
    /// When the sender sent it; never later than its arrival.
    package var sentAt: BootInstant?
    /// How long the sender wants it to ring.
    package var ringTime: Duration?

    package init(
        call: CallID? = nil, update: CallUpdate = CallUpdate(), cancel: CallEndReason? = nil,
        sentAt: BootInstant? = nil, ringTime: Duration? = nil
    ) {
        self.call = call
        self.update = update
        self.cancel = cancel
        self.sentAt = sentAt
        self.ringTime = ringTime
    }

    /// The shortest and the longest ring time that a payload may ask for; others are brought within.
    package static let ringTimes: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
}
