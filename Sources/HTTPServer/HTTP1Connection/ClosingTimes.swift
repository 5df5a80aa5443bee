import RunLoop

/// When a connection is closed, whatever its peer does.
struct ClosingTimes {
    /// What the peer doesn't read.
    var unread: BootClock.Instant?
    /// The server stops.
    var drained: BootClock.Instant?
    /// The last answer has been sent.
    var lingered: BootClock.Instant?

    var earliest: BootClock.Instant? { [unread, drained, lingered].compactMap(\.self).min() }
}
