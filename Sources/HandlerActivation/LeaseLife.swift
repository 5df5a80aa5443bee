internal import RingwakeCore
internal import RunLoop

/// The life cycle of a lease, the same for every way: starting, running, over. It calls each event once, and runs the
/// timer of a handler that has to exit by itself or is being stopped.
final class LeaseLife {
    private enum Phase {
        case starting, running, over
    }

    /// A handler may be stopped this much late, so that several are stopped in one wakeup.
    private static let maximumTolerance: Duration = .milliseconds(250)

    private let runLoop: RunLoop
    private var events: HandlerEvents?
    private var phase = Phase.starting
    private var timer: Timer?
    private(set) var isStopping = false
    /// Asks the handler to end.
    var ask: (() -> Void)?
    /// Ends the handler by force.
    var force: (() -> Void)?

    init(runLoop: RunLoop, events: HandlerEvents) {
        self.runLoop = runLoop
        self.events = events
    }

    var isOver: Bool { phase == .over }

    // MARK: - Events

    func started(pid: Int32?) {
        guard phase == .starting else { return }
        phase = .running
        events?.started(pid)
    }

    /// - Returns: false if the lease was over already.
    @discardableResult
    func ended(_ exit: HandlerExit) -> Bool {
        guard let events = finish() else { return false }
        events.ended(exit)
        return true
    }

    /// If the handler has started, this calls `ended`, otherwise `failed`.
    @discardableResult
    func failed(_ error: RingwakeError) -> Bool {
        let hasStarted = phase == .running
        guard let events = finish() else { return false }
        if hasStarted {
            events.ended(.left(error.message))
        } else {
            events.failed(error)
        }
        return true
    }

    private func finish() -> HandlerEvents? {
        guard phase != .over, let events else { return nil }
        phase = .over
        self.events = nil
        ask = nil
        force = nil
        cancelTimer()
        return events
    }

    // MARK: - Requests

    func stop(grace: Duration) {
        guard phase != .over, !isStopping else { return }
        isStopping = true
        cancelTimer()
        guard grace > .zero else {
            force?()
            return
        }
        ask?()
        // `ask` may have ended the handler.
        if phase != .over { schedule(after: grace) { $0.force?() } }
    }

    func expectExit(within timeout: Duration, grace: Duration) {
        guard phase != .over, !isStopping else { return }
        schedule(after: timeout) { $0.stop(grace: grace) }
    }

    func keep() {
        guard !isStopping else { return }
        cancelTimer()
    }

    private func schedule(after time: Duration, _ body: @escaping (LeaseLife) -> Void) {
        cancelTimer()
        let deadline = runLoop.refreshNow().advanced(by: time)
        timer = runLoop.schedule(at: deadline, tolerance: min(time / 4, Self.maximumTolerance)) { [weak self] in
            guard let self else { return }
            self.timer = nil
            body(self)
        }
    }

    private func cancelTimer() {
        if let timer { runLoop.cancel(timer) }
        timer = nil
    }
}

/// A lease that delegates to a ``LeaseLife``.
protocol LivingLease: HandlerLease {
    var life: LeaseLife { get }
}

extension LivingLease {
    var isRunning: Bool { !life.isOver }

    func stop(grace: Duration) { life.stop(grace: grace) }
    func expectExit(within timeout: Duration, grace: Duration) { life.expectExit(within: timeout, grace: grace) }
    func keep() { life.keep() }
}
