internal import CRingwakeLinux
internal import Glibc
internal import RunLoop

/// Reports when the machine resumed from suspend, or its wall clock was set.
///
/// The kernel cancels a wall-clock timer that never expires in both cases (TFD_TIMER_CANCEL_ON_SET,
/// timerfd_create(2)). It causes no other wakeups and needs no privilege. Slewing by a time service isn't reported.
final class ResumeWatch {
    private let onResume: (Duration) -> Void
    private let suspended: () -> Duration
    private let descriptor: Int32
    private let isOwned: Bool
    private var source: ReadinessSource?
    private var suspendedBefore: Duration

    /// - Parameter onResume: called with the time spent in suspend since the last call, to the millisecond; zero if
    ///   only the clock was set.
    /// - Throws: There is no descriptor left.
    convenience init(
        runLoop: RunLoop, onResume: @escaping (_ slept: Duration) -> Void
    ) throws(ReachabilityError) {
        let timer = ringwake_timerfd_create(CLOCK_REALTIME)
        guard timer >= 0 else {
            throw ReachabilityError(call: "timerfd_create", errno: errno, advice: "raise the limit on descriptors")
        }
        // ECANCELED: the clock was set just now. The timer is armed nevertheless.
        guard ringwake_timerfd_arm_for_clock_changes(timer) == 0 || errno == ECANCELED else {
            let error = errno
            Glibc.close(timer)
            throw ReachabilityError(
                call: "timerfd_settime", errno: error, advice: "a resume from suspend cannot be noticed")
        }
        try self.init(
            runLoop: runLoop, descriptor: timer, isOwned: true, suspended: SuspendClock.total, onResume: onResume)
    }

    /// - Parameters:
    ///   - descriptor: Readable when the machine has resumed: each read takes 8 bytes, or fails with ECANCELED.
    ///   - isOwned: it is closed with this object, also when this throws.
    ///   - suspended: The time spent in suspend since boot.
    init(
        runLoop: RunLoop, descriptor: Int32, isOwned: Bool = false, suspended: @escaping () -> Duration,
        onResume: @escaping (_ slept: Duration) -> Void
    ) throws(ReachabilityError) {
        self.descriptor = descriptor
        self.isOwned = isOwned
        self.suspended = suspended
        self.onResume = onResume
        suspendedBefore = suspended()
        do throws(RunLoopError) {
            source = try runLoop.watch(descriptor, for: .read, cause: .resume) { [weak self] _ in self?.takeEvent() }
        } catch {
            // All properties are set, so deinit closes the descriptor.
            throw ReachabilityError(error, advice: "raise the limit on watched descriptors")
        }
    }

    deinit {
        source?.cancel()
        if isOwned { Glibc.close(descriptor) }
    }

    /// Ends the reports. Idempotent. The descriptor is closed with the object.
    func close() {
        source?.cancel()
        source = nil
    }

    private func takeEvent() {
        var expirations: UInt64 = 0
        let count = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        let error = errno
        if count < 0, error == EAGAIN || error == EINTR { return }
        // The end of a descriptor, or a permanent error.
        guard count > 0 || (count < 0 && error == ECANCELED) else { return close() }
        // If the clock is set between the read and this, the next read reports it.
        if isOwned { _ = ringwake_timerfd_arm_for_clock_changes(descriptor) }
        let now = suspended()
        let slept = max(.zero, now - suspendedBefore)
        suspendedBefore = now
        onResume(slept)
    }
}

/// How long the machine has been in suspend since boot.
enum SuspendClock {
    /// Maximum readings: the thread may be delayed between the two clocks.
    private static let attempts = 5

    /// CLOCK_BOOTTIME, which counts in suspend, less CLOCK_MONOTONIC, which does not. Whole milliseconds.
    static func total() -> Duration {
        var best = (gap: Int64.max, difference: Int64(0))
        for _ in 0..<attempts where best.gap > 100_000 {
            let before = nanoseconds(CLOCK_MONOTONIC)
            let boot = nanoseconds(CLOCK_BOOTTIME)
            let gap = nanoseconds(CLOCK_MONOTONIC) &- before
            if gap < best.gap { best = (gap, boot &- before &- gap / 2) }
        }
        // Rounded to the nearest: the two halves of the gap are not equal.
        let milliseconds = best.difference / 1_000_000 + (best.difference % 1_000_000 >= 500_000 ? 1 : 0)
        return .milliseconds(milliseconds)
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail: both clocks are in every kernel since 2.6.39, and the pointer is valid.
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
