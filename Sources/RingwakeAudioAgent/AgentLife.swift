internal import CallAudio
internal import ControlProtocol
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Serves one daemon: from the first request on its socket until everything that was done for it is undone.
final class AgentLife {
    /// How long another program may hold the journal, while it undoes effects for a daemon that is gone.
    private static let journalTimeout = Duration.seconds(5)
    /// How often that is checked.
    private static let journalStep = Duration.milliseconds(50)
    /// Timeout of undoing, before this program leaves it to the next one. The engine's own timeout is shorter.
    private static let closingTimeout = Duration.seconds(4)

    private enum State {
        /// Another program holds the journal.
        case waiting(until: BootClock.Instant, Timer?)
        case running(AudioEngine)
        case closing(Timer)
        case over
    }

    private let connection: AudioEngineConnection<AudioEngineRequest>
    private let parts: AudioEngineParts
    private let journal: String
    private let completion: (Int32) -> Void
    private var state: State
    /// The program's exit status.
    private var status: Int32 = 0
    private var isUnknownLogged = false

    private var runLoop: RunLoop { parts.runLoop }
    private var logger: Logger { parts.logger }

    /// - Parameters:
    ///   - descriptor: A connected socket that does not block; it is closed when this is over.
    ///   - completion: called with the exit status, once, from the loop.
    init(_ descriptor: Int32, _ parts: AudioEngineParts, journal: String, completion: @escaping (Int32) -> Void) {
        connection = AudioEngineConnection(descriptor, runLoop: parts.runLoop, decode: AudioEngineLine.request)
        self.parts = parts
        self.journal = journal
        self.completion = completion
        state = .waiting(until: parts.runLoop.refreshNow().advanced(by: AgentLife.journalTimeout), nil)
        parts.runLoop.enqueue { [self] in begin() }
    }

    /// Undoes everything, and ends. Idempotent.
    func end() {
        switch state {
        case .waiting(_, let timer):
            if let timer { runLoop.cancel(timer) }
            finish()
        case .running(let engine):
            connection.stopReading()
            let timer = runLoop.schedule(
                at: runLoop.refreshNow().advanced(by: AgentLife.closingTimeout), tolerance: .milliseconds(100)
            ) { [self] in
                logger.error(
                    "undoing takes too long and is left to the next start", metadata: ["journal": "\(journal)"])
                status = 1
                finish()
            }
            state = .closing(timer)
            // The engine is kept until it has ended.
            engine.close { [self] in withExtendedLifetime(engine) { closed() } }
        case .closing, .over: break
        }
    }

    // MARK: - Progress

    private func begin() {
        guard case .waiting(let end, _) = state else { return }
        do throws(EffectJournalError) {
            let engine = try parts.makeEngine(journal: journal) { [weak self] in self?.report($0) }
            run(engine)
        } catch {
            if error.isInUse, runLoop.refreshNow() < end {
                let timer = runLoop.schedule(
                    at: runLoop.now.advanced(by: AgentLife.journalStep), tolerance: AgentLife.journalStep
                ) { [self] in begin() }
                state = .waiting(until: end, timer)
            } else {
                give(up: error.description)
            }
        }
    }

    private func run(_ engine: AudioEngine) {
        do throws(RunLoopError) {
            connection.onMessage = { [weak engine] in engine?.handle($0) }
            connection.onUnknown = { [weak self] in self?.unknown($0) }
            connection.onEnd = { [weak self] in self?.ended($0) }
            try connection.begin(cause: WakeupCause("line"))
        } catch {
            return give(up: "the daemon's socket cannot be watched: \(error)")
        }
        state = .running(engine)
        engine.start()
    }

    private func report(_ report: AudioEngineReport) {
        if case .problem(let text) = report { logger.warning("problem", metadata: ["what": "\(text)"]) }
        connection.send(AudioEngineLine.encoded(report))
    }

    /// The daemon logs each of them; once is enough here.
    private func unknown(_ name: String) {
        let text = "'\(name)' is no request that this ringwake-audio knows; use the version of the daemon"
        if !isUnknownLogged { logger.warning("problem", metadata: ["what": "\(text)"]) }
        isUnknownLogged = true
        connection.send(AudioEngineLine.encoded(.problem(text)))
    }

    private func ended(_ end: AudioEngineConnection<AudioEngineRequest>.End) {
        switch end {
        case .socket(.closed, isTorn: false): logger.debug("the daemon closed the line")
        case .socket(.closed, isTorn: true): logger.warning("the line broke off in the middle of a request")
        case .malformed(let why): fail("the daemon sent what cannot be read", why)
        case .socket(.unread, _): fail("the line to the daemon failed", "the daemon does not read the reports")
        case .socket(.unwatched(let error), _):
            fail("the line to the daemon failed", "its socket cannot be watched: \(error)")
        }
        self.end()
    }

    private func fail(_ what: Logger.Message, _ why: String) {
        logger.error(what, metadata: ["why": "\(why)"])
        status = 1
    }

    private func closed() {
        guard case .closing(let timer) = state else { return }
        runLoop.cancel(timer)
        finish()
    }

    private func give(up why: String) {
        fail("cannot start", why)
        connection.send(AudioEngineLine.encoded(.unavailable(why)))
        finish()
    }

    private func finish() {
        state = .over
        connection.close()
        completion(status)
    }
}
