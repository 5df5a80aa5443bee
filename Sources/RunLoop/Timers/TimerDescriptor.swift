internal import CRingwakeLinux
internal import Glibc

/// The one kernel timer of a loop, at an absolute time of the boot clock.
final class TimerDescriptor {
    private(set) var descriptor: Int32
    /// True when its expiry wakes a machine that is suspended.
    private(set) var wakesFromSuspend: Bool
    private var armedAt: Int64?

    /// - Parameter wakingFromSuspend: Ask for `CLOCK_BOOTTIME_ALARM`, which needs CAP_WAKE_ALARM; without it the timer
    ///   is on `CLOCK_BOOTTIME`, and a suspended machine fires it when it resumes.
    init(wakingFromSuspend: Bool) throws(RunLoopError) {
        var made: Int32 = -1
        if wakingFromSuspend { made = ringwake_timerfd_create(CLOCK_BOOTTIME_ALARM) }
        wakesFromSuspend = made >= 0
        if made < 0 { made = ringwake_timerfd_create(CLOCK_BOOTTIME) }
        guard made >= 0 else { throw RunLoopError(operation: "timerfd_create", errno: errno) }
        descriptor = made
    }

    deinit { close(descriptor) }

    /// The clock that it waits on; nil while it is not set.
    var armedClock: clockid_t? {
        armedAt.map { _ in wakesFromSuspend ? CLOCK_BOOTTIME_ALARM : CLOCK_BOOTTIME }
    }

    /// Sets the time of the next expiry, nil for none. No system call when nothing changes.
    func arm(at time: Int64?) {
        guard time != armedAt else { return }
        // The kernel disarms at 0 and refuses what is negative; a time that has passed fires at once.
        let result = ringwake_timerfd_arm(descriptor, time.map { max(1, $0) } ?? 0)
        // EPERM is all that can go wrong with valid arguments: the privilege was dropped after init. A process that
        // drops it must make its loop afterwards.
        precondition(result == 0, "timerfd_settime refused a valid time; was CAP_WAKE_ALARM dropped after init?")
        armedAt = time
    }

    /// Takes the expiry, after which the timer is disarmed.
    func acknowledge() {
        var expirations: UInt64 = 0
        _ = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        armedAt = nil
    }
}
