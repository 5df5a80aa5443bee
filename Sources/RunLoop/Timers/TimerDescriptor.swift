internal import CRingwakeLinux
internal import Glibc

/// One kernel timer of a loop, set to an absolute time of the boot clock.
final class TimerDescriptor {
    private(set) var descriptor: Int32
    /// Whether it wakes a suspended machine.
    private(set) var wakesFromSuspend: Bool
    private var armedAt: Int64?

    /// - Parameter wakingFromSuspend: request `CLOCK_BOOTTIME_ALARM`, which needs CAP_WAKE_ALARM. Without that, the
    ///   timer uses `CLOCK_BOOTTIME` and fires when the machine resumes.
    init(wakingFromSuspend: Bool) throws(RunLoopError) {
        var made: Int32 = -1
        if wakingFromSuspend { made = ringwake_timerfd_create(CLOCK_BOOTTIME_ALARM) }
        wakesFromSuspend = made >= 0
        if made < 0 { made = ringwake_timerfd_create(CLOCK_BOOTTIME) }
        guard made >= 0 else { throw RunLoopError(operation: "timerfd_create", errno: errno) }
        descriptor = made
    }

    deinit { close(descriptor) }

    /// Clock of the timer; nil if it isn't armed.
    var armedClock: clockid_t? {
        armedAt.map { _ in wakesFromSuspend ? CLOCK_BOOTTIME_ALARM : CLOCK_BOOTTIME }
    }

    /// Sets the time of the next expiry; nil for none. No system call if nothing changes.
    func arm(at time: Int64?) {
        guard time != armedAt else { return }
        // The kernel treats 0 as disarmed and refuses negative times. A time in the past fires at once.
        let result = ringwake_timerfd_arm(descriptor, time.map { max(1, $0) } ?? 0)
        // With valid arguments the only error is EPERM: the capability was dropped after init. A process that drops it
        // must create its loop afterwards.
        precondition(result == 0, "timerfd_settime refused a valid time; was CAP_WAKE_ALARM dropped after init?")
        armedAt = time
    }

    /// Reads the expiry. The timer is then disarmed.
    func acknowledge() {
        var expirations: UInt64 = 0
        _ = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        armedAt = nil
    }
}
