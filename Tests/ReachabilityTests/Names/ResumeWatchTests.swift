import CRingwakeLinux
import Glibc
import RunLoop
import Testing

@testable import Reachability

/// A real resume, and a clock that is set, are left out: a test must not do either to the machine.
@Suite("Resume watch")
struct ResumeWatchTests {
    private let loop: RunLoop

    init() throws {
        loop = try RunLoop(wakingFromSuspend: false)
    }

    @Test("each event tells how long the machine slept since the one before")
    func tellSleep() throws {
        let bell = try EventDescriptor(nonblocking: true)
        var suspended = Duration.seconds(100)
        var told: [Duration] = []
        let watch = try ResumeWatch(runLoop: loop, descriptor: bell.number, suspended: { suspended }) {
            told.append($0)
        }
        loop.runOnce(timeout: .zero)
        #expect(told.isEmpty)
        suspended = .seconds(3_700)
        bell.ring()
        loop.runOnce(timeout: .zero)
        // The clock was set, and the machine did not sleep.
        bell.ring()
        loop.runOnce(timeout: .zero)
        suspended = .milliseconds(3_700_250)
        bell.ring()
        loop.runOnce(timeout: .zero)
        #expect(told == [.seconds(3_600), .zero, .milliseconds(250)])
        #expect(!loop.isReady)
        watch.close()
    }

    @Test("a sleep is never negative")
    func clampSleep() throws {
        let bell = try EventDescriptor(nonblocking: true)
        var suspended = Duration.milliseconds(1)
        var told: [Duration] = []
        let watch = try ResumeWatch(runLoop: loop, descriptor: bell.number, suspended: { suspended }) {
            told.append($0)
        }
        suspended = .zero
        bell.ring()
        loop.runOnce(timeout: .zero)
        #expect(told == [.zero])
        watch.close()
    }

    @Test("closed: nothing is told, and the descriptor is still its owner's")
    func closeWatch() throws {
        let bell = try EventDescriptor(nonblocking: true)
        var calls = 0
        let watch = try ResumeWatch(runLoop: loop, descriptor: bell.number, suspended: { .zero }) { _ in calls += 1 }
        watch.close()
        watch.close()
        bell.ring()
        loop.runOnce(timeout: .zero)
        #expect(calls == 0)
        #expect(fcntl(bell.number, F_GETFD) >= 0)
    }

    @Test("a descriptor that ended tells nothing and does not keep the loop busy")
    func endOfFile() throws {
        var ends: [Int32] = [-1, -1]
        #expect(ringwake_pipe(&ends, O_NONBLOCK) == 0)
        defer { close(ends[0]) }
        var calls = 0
        let watch = try ResumeWatch(runLoop: loop, descriptor: ends[0], suspended: { .zero }) { _ in calls += 1 }
        close(ends[1])
        loop.runOnce(timeout: .zero)
        #expect(calls == 0)
        #expect(!loop.isReady)
        watch.close()
    }

    @Test("the real timer is armed without a privilege and does not fire by itself")
    func realTimer() throws {
        var calls = 0
        let watch = try ResumeWatch(runLoop: loop) { _ in calls += 1 }
        loop.runOnce(timeout: .zero)
        #expect(calls == 0)
        #expect(!loop.isReady)
        watch.close()
    }

    @Test("a timer that never comes is armed for the wall clock's changes, in the year 2200")
    func timerSettings() throws {
        let timer = ringwake_timerfd_create(CLOCK_REALTIME)
        defer { close(timer) }
        #expect(ringwake_timerfd_arm_for_clock_changes(timer) == 0)
        // As proc(5) shows it: the clock, TFD_TIMER_ABSTIME (1) and TFD_TIMER_CANCEL_ON_SET (2).
        let text = try Commands().run("/bin/cat", ["/proc/\(getpid())/fdinfo/\(timer)"])
        #expect(text.contains("clockid: 0\n"))
        #expect(text.contains("settime flags: 03\n"))
    }

    @Test("the time in suspend does not change while the machine is awake")
    func suspendClock() {
        let first = SuspendClock.total()
        let second = SuspendClock.total()
        #expect(first >= .zero)
        // One reading may be rounded up, and the other down.
        #expect(second - first <= .milliseconds(1) && first - second <= .milliseconds(1))
    }
}
