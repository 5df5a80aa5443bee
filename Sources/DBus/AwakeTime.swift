import Glibc

/// A point on `CLOCK_MONOTONIC`, which stands still while the machine is suspended.
struct AwakeTime {
    private var nanoseconds: Int64

    static var now: AwakeTime {
        var time = timespec()
        // Cannot fail: the clock is in every kernel, and the pointer is valid.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return AwakeTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// Saturates at a year, which no reasonable timeout reaches.
    func advanced(by duration: Duration) -> AwakeTime {
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(31_536_000)).components
        return AwakeTime(nanoseconds: nanoseconds &+ seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }

    /// Negative when `other` is past.
    func duration(to other: AwakeTime) -> Duration { .nanoseconds(other.nanoseconds &- nanoseconds) }
}
