import Glibc
import RingwakeCore

/// A point in time to give up at, on the boot clock.
struct Deadline {
    private let instant: BootInstant

    init(after duration: Duration) {
        instant = Deadline.now().advanced(by: duration)
    }

    var hasPassed: Bool { instant <= Deadline.now() }

    /// For poll(2): milliseconds until the deadline, rounded up so that it has passed afterwards; 0 when it has.
    var pollTimeout: Int32 {
        let nanoseconds = max(0, Deadline.now().duration(to: instant).saturatingNanoseconds)
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return Int32(clamping: milliseconds)
    }

    static func now() -> BootInstant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
