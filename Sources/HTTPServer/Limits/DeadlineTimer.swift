package import RunLoop

/// One timer for all deadlines of a connection.
///
/// When a deadline is removed, the timer isn't moved. It then fires once without effect, and its owner requires the
/// next deadline. So a busy connection doesn't change the timer for each request.
package struct DeadlineTimer {
    package init() {}

    private var armed: (timer: Timer, deadline: BootClock.Instant)?

    /// Runs `body` at the deadline or earlier. The owner then has to require the next deadline.
    package mutating func require(
        _ deadline: BootClock.Instant, on runLoop: RunLoop, tolerance: Duration, _ body: @escaping () -> Void
    ) {
        if let armed {
            guard deadline < armed.deadline else { return }
            runLoop.cancel(armed.timer)
        }
        armed = (runLoop.schedule(at: deadline, tolerance: tolerance, wakingFromSuspend: false, body), deadline)
    }

    /// Call this first when the timer fires.
    package mutating func fired() {
        armed = nil
    }

    package mutating func cancel(on runLoop: RunLoop) {
        if let armed {
            runLoop.cancel(armed.timer)
        }
        armed = nil
    }
}
