import RunLoop

/// What is lost if a connection is closed to make room for another. The smallest is closed first.
nonisolated enum ConnectionIdleness: Comparable {
    /// Nothing.
    case idle(since: BootClock.Instant)
    /// A request that has begun and hasn't ended, or an answer that the client doesn't read.
    case slow(since: BootClock.Instant)
}
