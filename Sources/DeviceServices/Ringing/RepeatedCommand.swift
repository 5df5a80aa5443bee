internal import Glibc
internal import RunLoop

/// A command that runs again and again for as long as it is wanted.
///
///     idle --run--> running --ends well--> pausing --1 s after its start--> running
///                      |  \--fails, 3rd time in a row--> given up
///                      +--run(nil), also from pausing and given up--> idle
///
/// *Given up* lasts until another command is wanted, or none.
final class RepeatedCommand {
    /// Failures in a row after which it is not tried again.
    static let maximumFailures = 3

    private enum State {
        case idle
        case running(AlertProcess)
        case pausing(Timer)
        case givenUp
    }

    /// Called with the process when one has started, and with nil when one has ended.
    var onProcess: ((_ started: AlertProcess?, _ ended: AlertProcess?) -> Void)?
    /// Called once when the command is given up: why.
    var onFailure: ((String) -> Void)?
    /// Called when the command has ended well, or has run until it was stopped.
    var onSuccess: (() -> Void)?

    private let runLoop: RunLoop
    private let surroundings: AlertProcess.Surroundings
    /// Minimum time from one start to the next: a command that ends immediately must not spin.
    private let period: Duration
    private var command: [String]?
    private var state = State.idle
    private var failures = 0

    init(runLoop: RunLoop, surroundings: AlertProcess.Surroundings, period: Duration) {
        self.runLoop = runLoop
        self.surroundings = surroundings
        self.period = period
    }

    /// Sets the command to run from now on; nil stops it. A running command ends first.
    func run(_ wanted: [String]?) {
        guard wanted != command else { return }
        command = wanted
        switch (state, wanted) {
        case (.running(let process), nil):
            process.stop()
            if failures == 0 { onSuccess?() }
            reset()
        case (.pausing(let timer), nil):
            runLoop.cancel(timer)
            reset()
        case (.givenUp, nil), (.idle, nil):
            reset()
        case (.givenUp, .some), (.idle, .some):
            reset()
            start()
        case (.running, .some), (.pausing, .some):
            failures = 0
        }
    }

    private func reset() {
        state = .idle
        failures = 0
    }

    private func start() {
        guard let command else { return }
        let startedAt = runLoop.refreshNow()
        do throws(AlertProcess.Failure) {
            let process = try AlertProcess.start(command, in: surroundings, runLoop: runLoop) {
                [weak self] process, exit in
                self?.ended(process, exit, startedAt)
            }
            state = .running(process)
            onProcess?(process, nil)
        } catch {
            failed(error.reason, startedAt, isPermanent: error.isPermanent)
        }
    }

    private func ended(_ process: AlertProcess, _ exit: ChildExit, _ startedAt: BootClock.Instant) {
        onProcess?(nil, process)
        // A stopped process ends later; another may already run.
        guard case .running(let current) = state, current === process else { return }
        let words = process.lastLine.map { ": \($0)" } ?? ""
        switch exit {
        case .exited(0):
            failures = 0
            pause(from: startedAt)
            onSuccess?()
        case .exited(let status):
            failed("it exited with status \(status)\(words)", startedAt, isPermanent: false)
        case .signalled(let signal):
            failed("it was killed by signal \(signal)\(words)", startedAt, isPermanent: false)
        }
    }

    private func failed(_ reason: String, _ startedAt: BootClock.Instant, isPermanent: Bool) {
        failures += 1
        guard isPermanent || failures >= Self.maximumFailures else { return pause(from: startedAt) }
        state = .givenUp
        onFailure?(reason)
    }

    private func pause(from startedAt: BootClock.Instant) {
        let next = startedAt.advanced(by: period)
        state = .pausing(
            runLoop.schedule(at: next, tolerance: .milliseconds(100)) { [weak self] in
                self?.start()
            })
    }
}
