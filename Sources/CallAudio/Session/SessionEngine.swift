internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The engine of a session service. Each start first undoes the effects of programs that are gone, and then takes a
/// journal that no other program holds.
final class SessionEngine {
    /// Its reports; none after ``stop(_:)``.
    var onReport: ((AudioEngineReport) -> Void)?
    /// Called when it can't start, with the reason for a person.
    var onGone: ((String) -> Void)?

    private enum State {
        case stopped
        case restoring(JournalRestore)
        case running(AudioEngine)
        /// Whether to start again.
        case stopping(startsAgain: Bool)
    }

    private let parts: AudioEngineParts
    private var state = State.stopped
    /// Requests that arrived during the restoration.
    private var waiting: [AudioEngineRequest] = []
    private var stopped: [() -> Void] = []
    /// Counts starts: reports of an earlier one are dropped.
    private var life: UInt64 = 0

    init(_ parts: AudioEngineParts) {
        self.parts = parts
    }

    func start() {
        switch state {
        case .stopped: begin()
        case .stopping: state = .stopping(startsAgain: true)
        case .restoring, .running: break
        }
    }

    func send(_ request: AudioEngineRequest) {
        switch state {
        case .running(let engine): engine.handle(request)
        case .restoring, .stopping: waiting.append(request)
        case .stopped: break
        }
    }

    /// Undoes everything; `completion` is called from the loop.
    func stop(_ completion: @escaping () -> Void) {
        life += 1
        waiting = []
        stopped.append(completion)
        switch state {
        case .stopped: parts.runLoop.enqueue { [self] in hasStopped() }
        case .restoring(let restoring):
            state = .stopping(startsAgain: false)
            // Its completion follows.
            restoring.end()
        case .running(let engine):
            state = .stopping(startsAgain: false)
            // The engine is kept until it has ended: it holds the journal's lock.
            engine.close { [self] in withExtendedLifetime(engine) { parts.runLoop.enqueue { [self] in hasStopped() } } }
        case .stopping: state = .stopping(startsAgain: false)
        }
    }

    // MARK: - Starts

    private func begin() {
        life += 1
        let paths = EffectJournals.all(parts.environment)
        let restoring = JournalRestore(paths, parts) { [self] result in
            if result.mended > 0 {
                parts.logger.notice("put back what a program left", metadata: ["effects": "\(result.mended)"])
            }
            mended()
        }
        state = .restoring(restoring)
    }

    private func mended() {
        guard case .restoring = state else { return hasStopped() }
        var refusal = "neither XDG_STATE_HOME nor HOME is set: there is no place for the effect journal"
        for path in EffectJournals.numbered(parts.environment) {
            let life = life
            do throws(EffectJournalError) {
                let engine = try parts.makeEngine(journal: path) { [weak self] report in
                    guard let self, self.life == life else { return }
                    onReport?(report)
                }
                state = .running(engine)
                engine.start()
                let requests = waiting
                waiting = []
                for request in requests { engine.handle(request) }
                return
            } catch {
                refusal = error.description
                guard error.isInUse else { break }
            }
        }
        state = .stopped
        waiting = []
        onGone?(refusal)
    }

    private func hasStopped() {
        let startsAgain = if case .stopping(true) = state { true } else { false }
        state = .stopped
        let completions = stopped
        stopped = []
        for completion in completions { completion() }
        if startsAgain { begin() }
    }
}
