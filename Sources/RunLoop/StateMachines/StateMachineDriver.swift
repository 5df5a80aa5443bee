/// Drives a state machine on a run loop: applies one event at a time, runs its effects in order, and keeps one timer at
/// the machine's next deadline. The owner keeps the machine.
///
///     driver = StateMachineDriver(
///         runLoop: loop, tolerance: .milliseconds(50), deadlineReached: .deadlineReached,
///         nextDeadline: { [unowned self] in machine.nextDeadline },
///         apply: { [unowned self] event in for effect in machine.handle(event, at: loop.now) { run(effect) } })
///     driver.submit(.started)
///
/// An event that is submitted while effects run is applied after them. Use it on the loop's thread only.
package final class StateMachineDriver<Event> {
    private let runLoop: RunLoop
    private let tolerance: Duration
    private let wakingFromSuspend: Bool
    private let willReachDeadline: () -> Void
    private let deadlineReached: Event
    private let nextDeadline: () -> BootClock.Instant?
    private let apply: (Event) -> Void
    private let settled: () -> Void
    private var queue = EventQueue<Event>()
    private var timer: (timer: Timer, deadline: BootClock.Instant)?

    /// - Parameters:
    ///   - tolerance: how late a deadline may fire, to share a wakeup.
    ///   - wakingFromSuspend: whether a deadline wakes a suspended machine.
    ///   - willReachDeadline: called before it, to submit events that happened earlier and were not read yet.
    ///   - deadlineReached: the event to apply at the deadline.
    ///   - nextDeadline: the machine's next deadline; nil if there is none.
    ///   - apply: applies an event to the machine, and runs its effects.
    ///   - settled: called when no event is left.
    package init(
        runLoop: RunLoop, tolerance: Duration, wakingFromSuspend: Bool = true,
        willReachDeadline: @escaping () -> Void = {}, deadlineReached: Event,
        nextDeadline: @escaping () -> BootClock.Instant?, apply: @escaping (Event) -> Void,
        settled: @escaping () -> Void = {}
    ) {
        self.runLoop = runLoop
        self.tolerance = tolerance
        self.wakingFromSuspend = wakingFromSuspend
        self.willReachDeadline = willReachDeadline
        self.deadlineReached = deadlineReached
        self.nextDeadline = nextDeadline
        self.apply = apply
        self.settled = settled
    }

    /// Applies an event, and the events that follow from it.
    package func submit(_ event: Event) {
        if queue.begin(event) { drain(event) }
    }

    /// Applies an event before the queued ones. For the result of the effect that is being run.
    package func submitNext(_ event: Event) {
        if queue.begin(event, isUrgent: true) { drain(event) }
    }

    /// Cancels the timer.
    package func cancelTimer() {
        if let timer { runLoop.cancel(timer.timer) }
        timer = nil
    }

    private func drain(_ first: Event) {
        apply(first)
        while let event = queue.next() { apply(event) }
        setTimer()
        settled()
    }

    private func setTimer() {
        let deadline = nextDeadline()
        guard deadline != timer?.deadline else { return }
        cancelTimer()
        guard let deadline else { return }
        let timer = runLoop.schedule(at: deadline, tolerance: tolerance, wakingFromSuspend: wakingFromSuspend) {
            [weak self] in
            guard let self else { return }
            self.timer = nil
            willReachDeadline()
            submit(deadlineReached)
        }
        self.timer = (timer, deadline)
    }
}
