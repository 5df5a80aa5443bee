internal import RunLoop

/// One timer at a time that may change, such as the beginning of do not disturb. It doesn't wake a suspended machine:
/// nobody runs who could be told.
final class DeviceTimer {
    private let runLoop: RunLoop
    private let tolerance: Duration
    private let body: () -> Void
    private var timer: (timer: Timer, deadline: BootClock.Instant)?

    init(runLoop: RunLoop, tolerance: Duration, _ body: @escaping () -> Void) {
        self.runLoop = runLoop
        self.tolerance = tolerance
        self.body = body
    }

    /// Sets the deadline; nil: none.
    func set(_ deadline: BootClock.Instant?) {
        guard deadline != timer?.deadline else { return }
        if let timer { runLoop.cancel(timer.timer) }
        timer = deadline.map { deadline in
            let timer = runLoop.schedule(at: deadline, tolerance: tolerance, wakingFromSuspend: false) { [weak self] in
                self?.timer = nil
                self?.body()
            }
            return (timer, deadline)
        }
    }
}
