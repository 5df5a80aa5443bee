internal import Logging
internal import RingwakeCore
internal import RunLoop

/// The engine of a hub, through its lives: each begins with putting back what programs left that are gone, and takes a
/// journal that no other program has.
final class SessionEngine {
    /// What it reports; nothing after ``stop(_:)``.
    var onReport: ((AudioEngineReport) -> Void)?
    /// It cannot be had: why, for a person.
    var onGone: ((String) -> Void)?

    private enum State {
        case stopped
        case mending(JournalMending)
        case running(AudioEngine)
        /// Whether it is to start again.
        case stopping(startsAgain: Bool)
    }

    private let parts: AudioEngineParts
    private var state = State.stopped
    /// What was asked of it while it mended.
    private var waiting: [AudioEngineRequest] = []
    private var stopped: [() -> Void] = []
    /// Counts lives: what an earlier one reports is none of the present one's.
    private var life: UInt64 = 0

    init(_ parts: AudioEngineParts) {
        self.parts = parts
    }

    func start() {
        switch state {
        case .stopped: begin()
        case .stopping: state = .stopping(startsAgain: true)
        case .mending, .running: break
        }
    }

    func send(_ request: AudioEngineRequest) {
        switch state {
        case .running(let engine): engine.handle(request)
        case .mending, .stopping: waiting.append(request)
        case .stopped: break
        }
    }

    /// Has everything put back; `completion` is called from the loop.
    func stop(_ completion: @escaping () -> Void) {
        life += 1
        waiting = []
        stopped.append(completion)
        switch state {
        case .stopped: parts.runLoop.enqueue { [self] in hasStopped() }
        case .mending(let mending):
            state = .stopping(startsAgain: false)
            // It tells when it has ended, and that is the end.
            mending.end()
        case .running(let engine):
            state = .stopping(startsAgain: false)
            // It is held until it has ended: the journal's lock is let go of after that.
            engine.close { [self] in withExtendedLifetime(engine) { parts.runLoop.enqueue { [self] in hasStopped() } } }
        case .stopping: state = .stopping(startsAgain: false)
        }
    }

    // MARK: - Lives

    private func begin() {
        life += 1
        let paths = EffectJournals.all(parts.environment)
        let mending = JournalMending(paths, parts) { [self] result in
            if result.mended > 0 {
                parts.logger.notice("put back what a program left", metadata: ["effects": "\(result.mended)"])
            }
            mended()
        }
        state = .mending(mending)
    }

    private func mended() {
        guard case .mending = state else { return hasStopped() }
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
