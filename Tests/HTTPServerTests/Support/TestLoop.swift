import CRingwakeLinux
import Glibc
import RunLoop
import Testing

/// A run loop that a test turns itself.
@MainActor final class TestLoop {
    let runLoop: RunLoop
    /// Called after every turn: what polls.
    var afterTurn: [() -> Void] = []

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        runLoop = try RunLoop()
    }

    /// Turns the loop until the condition holds; false when it does not within the limit.
    func drive(limit: Duration = .seconds(300), until condition: () -> Bool) -> Bool {
        let end = BootClock.now().advanced(by: limit)
        while !condition() {
            if BootClock.now() > end { return false }
            runLoop.runOnce(timeout: .milliseconds(5))
            for body in afterTurn { body() }
        }
        return true
    }

    /// Turns the loop for so long.
    func drive(for duration: Duration) {
        let end = BootClock.now().advanced(by: duration)
        _ = drive { BootClock.now() > end }
    }
}
