import RingwakeCore
import RunLoop

/// A deadline on the boot clock.
struct Deadline {
    private let instant: BootClock.Instant

    init(after duration: Duration) {
        instant = BootClock.now().advanced(by: duration)
    }

    var hasPassed: Bool { instant <= BootClock.now() }

    /// The time until the deadline; zero if it has passed.
    var remaining: Duration { max(.zero, BootClock.now().duration(to: instant)) }

    /// For poll(2): milliseconds until the deadline, rounded up so that it has passed afterwards; 0 if it has passed.
    var pollTimeout: Int32 {
        let nanoseconds = max(0, BootClock.now().duration(to: instant).saturatingNanoseconds)
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return Int32(clamping: milliseconds)
    }
}
