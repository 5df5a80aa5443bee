internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import FileSystem
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Drives the audio sessions of this daemon's user: gives the arbiter what the calls need, what clients ask for and what
/// the audio server does; runs its effects; keeps its one timer.
///
///     EffectRunner --calls change--> update() --needs--> AudioArbiter --apply--> AudioProgram --> ringwake-audio
///          ^                                                 ^  |                      |
///          +------------------ audioChanged -----------------|--+<------ reports ------+
///     ControlServer --open, configure, activate--------------+
///
/// Nothing of audio is there while no call has been reported, no session is open and nothing is left to be put back.
final class AudioService {
    /// All sessions. Read freely; changed by ``submit(_:)`` alone.
    private(set) var arbiter: AudioArbiter
    /// What is counted since the start.
    private(set) var counters = AudioCounters()

    let program: AudioProgram
    unowned let runner: EffectRunner
    private let runLoop: RunLoop
    private let logger: Logger
    private let sleepWatch: SleepWatch
    private var timer: (token: Timer, deadline: BootInstant)?
    private var needs = CallAudioNeeds.none
    private var activationAsked: BootInstant?

    var clients: [AudioSessionID: Client] = [:]
    /// Who waits for what comes of a choice of an output, by its number.
    var choosers: [UInt64: (AudioSessionError?) -> Void] = [:]
    var lastChoice: UInt64 = 0
    /// Why the last request for the speaker was refused.
    var overrideRefusal: AudioSessionError?
    private var isRunning = false
    private var queue: [AudioEvent] = []

    /// What a client of a session waits for.
    struct Client {
        let notices: (AudioNotice) -> Void
        /// Of what it asked for and has not been answered, the oldest first.
        var answers: [(Result<AudioRoute, AudioSessionError>) -> Void] = []
    }

    /// Called after each event: how the server or a session stands may be another.
    var onChange: (() -> Void)?

    /// An activation is bounded by 2 seconds; nobody minds a little more.
    private static let tolerance = Duration.milliseconds(50)

    init(
        _ configuration: Configuration, runner: EffectRunner, runLoop: RunLoop, systemBus: DBusService, logger: Logger
    ) {
        sleepWatch = SleepWatch(systemBus: systemBus)
        self.runner = runner
        self.runLoop = runLoop
        self.logger = logger
        program = AudioProgram(AudioEngineWay(configuration), runLoop: runLoop, logger: logger)
        arbiter = AudioArbiter(settings: configuration.audio.arbiterSettings(program.way))
        program.onReport = { [weak self] in self?.reported($0) }
        program.onGone = { [weak self] in self?.gone($0) }
        // Only while there is a route that may be another afterwards.
        program.onChange = { [sleepWatch] isOpen in sleepWatch.isNeeded = isOpen }
        sleepWatch.onWake = { [weak self] in self?.submit(.wokeFromSleep) }
    }

    /// A last run that was killed together with its `ringwake-audio` may have left something to put back.
    func begin() { program.restoreIfNeeded() }

    /// Looks what the calls need now.
    func update() {
        let new = runner.coordinator.audioNeeds(after: needs) { [runner] call in
            runner.coordinator.process(of: call).map { [$0] } ?? []
        }
        var current = new
        // Of what this process started, handlers and what rings, only those count that have a session.
        if current.isAnyCall || !clients.isEmpty { current.exempt.insert(getpid()) }
        guard current != needs else { return }
        if current.focus?.call != needs.focus?.call { activationAsked = current.focus.map { _ in runner.now } }
        needs = current
        submit(.calls(current))
    }

    func reconfigure(_ configuration: Configuration) {
        let way = AudioEngineWay(configuration)
        if way != program.way { program.change(to: way) }
        submit(.settingsChanged(configuration.audio.arbiterSettings(way)))
    }

    /// Applies one event, and those that running its effects leads to.
    func submit(_ event: AudioEvent) {
        queue.append(event)
        guard !isRunning else { return }
        isRunning = true
        var next = 0
        while next < queue.count {
            let event = queue[next]
            for effect in arbiter.handle(event, at: runner.now) {
                if case .refused(let id, let error) = effect {
                    refused(event, id, error)
                } else {
                    run(effect)
                }
            }
            next += 1
        }
        queue = []
        isRunning = false
        armTimer()
        onChange?()
    }

    private func armTimer() {
        let deadline = arbiter.nextDeadline
        guard deadline != timer?.deadline else { return }
        if let timer { runLoop.cancel(timer.token) }
        timer = deadline.map { deadline in
            let token = runLoop.schedule(
                at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: AudioService.tolerance
            ) { [weak self] in
                self?.timer = nil
                self?.submit(.deadlineReached)
            }
            return (token, deadline)
        }
    }

    /// The daemon stops: the other end of the line puts everything back.
    func close() {
        program.stop()
        if let timer { runLoop.cancel(timer.token) }
        timer = nil
    }

    // MARK: - What the arbiter asks for

    private func run(_ effect: AudioEffect) {
        switch effect {
        case .startEngine: program.open()
        case .send(let request): program.send(request)
        case .stopEngine:
            program.close()
            counters.noteEnd()
        case .notify(let id, let notice): clients[id]?.notices(notice)
        case .answer(let id, let result): answer(id, result)
        case .answerChoice(let number, let error): choosers.removeValue(forKey: number)?(error)
        case .callActivated(let key, let route):
            if let asked = activationAsked { counters.noteActivation(after: asked.duration(to: runner.now)) }
            activationAsked = nil
            tell(key, .activated(route))
        case .callDeactivated(let key): tell(key, .deactivated)
        case .callFailed(let key, let error):
            counters.noteFailure(error.code)
            logger.warning(
                "no audio for a call that goes on",
                metadata: [
                    "app": "\(key.app)", "call": "\(key.id)", "code": "\(error.code.rawValue)",
                    "why": "\(error.message)",
                ])
            tell(key, .failed(error))
        case .callRouteChanged(let key, let reason, let previous, let current):
            tell(key, .routeChanged(reason, previous: previous, current: current))
        case .refused: break
        case .problem(let what): logger.warning("audio", metadata: ["problem": "\(what)"])
        }
    }

    /// A request that is refused is so at once, so it is the newest of those that wait.
    private func refused(_ event: AudioEvent, _ id: AudioSessionID, _ error: AudioSessionError) {
        switch event {
        case .configured, .activationRequested, .deactivationRequested:
            counters.noteFailure(error.code)
            let answer = clients[id]?.answers.popLast()
            answer?(.failure(error))
        case .outputOverridden: overrideRefusal = error
        default: logger.warning("audio session refused", metadata: ["session": "\(id.number)", "why": "\(error)"])
        }
    }

    private func tell(_ key: CallKey, _ change: CallAudioChange) { runner.submit(.audioChanged(key, change)) }

    private func answer(_ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>) {
        if case .failure(let error) = result { counters.noteFailure(error.code) }
        guard clients[id]?.answers.isEmpty == false, let answer = clients[id]?.answers.removeFirst() else { return }
        answer(result)
    }

    // MARK: - The line to the audio server

    private func gone(_ why: String) {
        counters.noteEnd()
        submit(.engineGone(why))
    }

    private func reported(_ report: AudioEngineReport) {
        switch report {
        case .ready(_, let mended) where mended > 0:
            counters.noteMended(mended)
            logger.notice("effects of an earlier run put back", metadata: ["effects": "\(mended)"])
        case .applied(_, let applied): counters.note(applied)
        case .unavailable(let why): logger.info("no audio server", metadata: ["why": "\(why)"])
        case .lost(let why): logger.warning("the audio server is gone", metadata: ["why": "\(why)"])
        default: break
        }
        submit(.reported(report))
    }
}
