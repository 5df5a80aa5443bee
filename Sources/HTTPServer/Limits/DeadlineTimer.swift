import RunLoop

/// One timer of the run loop for all deadlines of a connection.
///
/// It is not moved when a deadline goes away: it then fires once for nothing, and its owner asks for the next
/// deadline. So a busy connection does not touch the timer on each request.
struct DeadlineTimer {
    private var armed: (timer: Timer, deadline: BootClock.Instant)?

    /// Sees to it that `body` runs at the deadline or before, and then asks again.
    mutating func require(
        _ deadline: BootClock.Instant, on runLoop: RunLoop, tolerance: Duration, _ body: @escaping () -> Void
    ) {
        if let armed {
            guard deadline < armed.deadline else { return }
            runLoop.cancel(armed.timer)
        }
        armed = (runLoop.schedule(at: deadline, tolerance: tolerance, body), deadline)
    }

    /// To be called first when the timer fires.
    mutating func fired() {
        armed = nil
    }

    mutating func cancel(on runLoop: RunLoop) {
        if let armed {
            runLoop.cancel(armed.timer)
        }
        armed = nil
    }
}
