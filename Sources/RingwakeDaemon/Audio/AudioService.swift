internal import DaemonConfiguration
internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Drives the audio sessions. Forwards the needs of the calls, the requests of clients and the reports of the audio
/// server to the arbiter; runs its effects; keeps its one timer.
///
///     CallDriver --calls change--> update() --needs--> AudioArbiter --apply--> AudioProgram --> ringwake-audio
///          ^                                                 ^  |                      |
///          +------------------ audioChanged -----------------|--+<------ reports ------+
///     ControlServer --> AudioClients --open, configure, activate
///
/// While there is no reported call, no session and nothing to restore, no audio program runs.
final class AudioService {
    /// All sessions. Only ``submit(_:)`` changes them.
    private(set) var arbiter: AudioArbiter
    private(set) lazy var clients = AudioClients(self)
    /// Counters since the start.
    private(set) var counters = AudioStatusMessage.Counters.zero

    let program: AudioProgram
    unowned let calls: CallDriver
    private let runLoop: RunLoop
    private let logger: Logger
    private let sleepWatch: SleepWatch
    private var needs = CallAudioNeeds.none
    private var activationAsked: BootInstant?
    private lazy var driver = StateMachineDriver<AudioEvent>(
        runLoop: runLoop, tolerance: AudioService.tolerance, deadlineReached: .deadlineReached,
        nextDeadline: { [unowned self] in
            arbiter.nextDeadline.map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        },
        apply: { [unowned self] event in
            for effect in arbiter.handle(event, at: calls.now) { run(effect, of: event) }
        },
        settled: { [unowned self] in clients.update() })

    /// The shortest deadline is 2 s (an activation), so 50 ms more don't matter.
    private static let tolerance = Duration.milliseconds(50)

    init(
        _ configuration: Configuration, calls: CallDriver, runLoop: RunLoop, systemBus: DBusService, logger: Logger
    ) {
        sleepWatch = SleepWatch(systemBus: systemBus)
        self.calls = calls
        self.runLoop = runLoop
        self.logger = logger
        program = AudioProgram(AudioEngineWay(configuration), runLoop: runLoop, logger: logger)
        arbiter = AudioArbiter(settings: configuration.audio.arbiterSettings(program.way))
        program.onReport = { [weak self] in self?.reported($0) }
        program.onGone = { [weak self] in self?.submit(.engineGone($0)) }
        // Only while the audio server is connected can the route change during sleep.
        program.onChange = { [sleepWatch] isOpen in sleepWatch.isNeeded = isOpen }
        sleepWatch.onWake = { [weak self] in self?.submit(.wokeFromSleep) }
    }

    /// Restores what the last run left changed, if it was killed together with its `ringwake-audio`.
    func begin() {
        program.restoreIfNeeded()
        update()
    }

    /// Submits the present needs of the calls, if they have changed.
    func update() {
        var new = calls.coordinator.audioNeeds(after: needs) { [calls] call in
            calls.coordinator.process(of: call).map { [$0] } ?? []
        }
        // The daemon's children (handlers, ring commands) are never muted or paused, unless they have a session.
        new.exempt.insert(getpid())
        guard new != needs else { return }
        let goesOn = new.focus.map { needs.focus?.continues(as: $0) == true } ?? false
        if !goesOn { activationAsked = new.focus.map { _ in calls.now } }
        needs = new
        submit(.calls(new))
    }

    func reconfigure(_ configuration: Configuration) {
        let way = AudioEngineWay(configuration)
        if way != program.way { program.change(to: way) }
        submit(.settingsChanged(configuration.audio.arbiterSettings(way)))
    }

    /// Applies one event, and those that follow from it.
    func submit(_ event: AudioEvent) { driver.submit(event) }

    /// Stops the audio program, which restores everything. The daemon stops.
    func close() {
        program.stop()
        driver.cancelTimer()
    }

    // MARK: - Effects of the arbiter

    private func run(_ effect: AudioEffect, of event: AudioEvent) {
        switch effect {
        case .startEngine: program.open()
        case .send(let request): program.send(request)
        case .stopEngine: program.close()
        case .notify(let id, let notice): clients.notify(id, notice)
        case .answer(let id, let result):
            if case .failure(let error) = result { count(error) }
            clients.answer(id, result)
        case .answerChoice(let number, let error): clients.answerChoice(number, error)
        case .call(let key, let change):
            note(change, of: key)
            calls.submit(.audioChanged(key, change))
        case .refused(let id, let error):
            switch event {
            case .configured, .activationRequested, .deactivationRequested: count(error)
            case .outputOverridden: break
            default: logger.warning("audio session refused", metadata: ["session": "\(id.number)", "why": "\(error)"])
            }
            clients.refuse(id, event, error)
        case .problem(let what): logger.warning("audio", metadata: ["problem": "\(what)"])
        }
    }

    private func note(_ change: CallAudioChange, of key: CallKey) {
        switch change {
        case .activated:
            guard let asked = activationAsked else { return }
            activationAsked = nil
            let us = asked.duration(to: calls.now).saturatingNanoseconds / 1000
            counters.activations &+= 1
            counters.activationUs &+= us
            counters.longestActivationUs = max(counters.longestActivationUs, us)
        case .failed(let error):
            count(error)
            logger.warning(
                "no audio for a call that goes on",
                metadata: [
                    "app": "\(key.app)", "call": "\(key.id)", "code": "\(error.code.rawValue)",
                    "why": "\(error.message)",
                ])
        case .deactivated, .routeChanged: break
        }
    }

    private func count(_ error: AudioSessionError) { counters.failures[error.code.rawValue, default: 0] &+= 1 }

    // MARK: - Reports of the program

    private func reported(_ report: AudioEngineReport) {
        switch report {
        case .ready(_, let mended) where mended > 0:
            counters.effectsUndone &+= UInt64(clamping: mended)
            logger.notice("effects of an earlier run put back", metadata: ["effects": "\(mended)"])
        case .applied(_, let applied):
            counters.effectsMade &+= UInt64(clamping: applied.made)
            counters.effectsUndone &+= UInt64(clamping: applied.undone)
            counters.effectsLeft &+= UInt64(clamping: applied.left)
        case .unavailable(let why): logger.info("no audio server", metadata: ["why": "\(why)"])
        case .lost(let why): logger.warning("the audio server is gone", metadata: ["why": "\(why)"])
        default: break
        }
        submit(.reported(report))
    }
}
