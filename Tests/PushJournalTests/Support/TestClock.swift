import PushJournal
import RingwakeCore
import Synchronization

/// Both clocks of the machine, which move only when they are told to.
nonisolated final class TestClock: Sendable {
    struct Times {
        /// 2026-03-01 12:00 UTC.
        var wall: Int64 = 1_772_366_400_000
        var boot = BootInstant(nanoseconds: 5_000_000_000_000)
        var trust = WallClockTrust.kept
    }

    private let times = Mutex(Times())

    var boot: BootInstant { times.withLock { $0.boot } }
    var wall: Int64 { times.withLock { $0.wall } }

    /// Time goes by on both.
    func advance(by duration: Duration) {
        times.withLock {
            $0.boot = $0.boot.advanced(by: duration)
            $0.wall += duration.milliseconds
        }
    }

    /// The machine was started again: `wall` is set, and the boot clock begins anew.
    func restart(uptime: Duration = .seconds(10), wall: Int64) {
        times.withLock {
            $0.boot = BootInstant(nanoseconds: uptime.saturatingNanoseconds)
            $0.wall = wall
        }
    }

    func setWall(_ wall: Int64) {
        times.withLock { $0.wall = wall }
    }

    func setTrust(_ trust: WallClockTrust) {
        times.withLock { $0.trust = trust }
    }

    func clocks(bootID: String = "boot-1") -> JournalClocks {
        JournalClocks(
            wall: { self.wall }, boot: { self.boot }, bootID: bootID, trust: { self.times.withLock { $0.trust } })
    }
}
