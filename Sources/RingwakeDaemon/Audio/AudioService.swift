internal import DaemonConfiguration
internal import ControlProtocol
internal import DBus
internal import DeviceServices
internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Drives the audio sessions of this daemon's user: gives the arbiter what the calls need, what clients ask for and what
/// the audio server does; runs its effects; keeps its one timer.
///
///     CallDriver --calls change--> update() --needs--> AudioArbiter --apply--> AudioProgram --> ringwake-audio
///          ^                                                 ^  |                      |
///          +------------------ audioChanged -----------------|--+<------ reports ------+
///     ControlServer --> AudioClients --open, configure, activate
///
/// Nothing of audio is there while no call has been reported, no session is open and nothing is left to be put back.
final class AudioService {
    /// All sessions. Read freely; changed by ``submit(_:)`` alone.
    private(set) var arbiter: AudioArbiter
    private(set) lazy var clients = AudioClients(self)
    /// What is counted since the start.
    private(set) var counters = AudioStatusMessage.Counters.zero
    /// Changes of the server that are in force.
    private(set) var effectsInForce = 0

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

    /// An activation is bounded by 2 seconds; nobody minds a little more.
    private static let tolerance = Duration.milliseconds(50)

    init(
        _ configuration: Configuration, calls: CallDriver, runLoop: RunLoop, systemBus: DBusService, logger: Logger
    ) {
        sleepWatch = SleepWatch(systemBus: systemBus)
        self.calls = calls
        self.runLoop = runLoop
        self.logger = logger
        program = AudioProgram(AudioEngineWay(configuration, isRoot: geteuid() == 0), runLoop: runLoop, logger: logger)
        arbiter = AudioArbiter(settings: configuration.audio.arbiterSettings(program.way))
        program.onReport = { [weak self] in self?.reported($0) }
        program.onGone = { [weak self] in self?.gone($0) }
        // Only while there is a route that may be another afterwards.
        program.onChange = { [sleepWatch] isOpen in sleepWatch.isNeeded = isOpen }
        sleepWatch.onWake = { [weak self] in self?.submit(.wokeFromSleep) }
    }

    /// A last run that was killed together with its `ringwake-audio` may have left something to put back.
    func begin() {
        program.restoreIfNeeded()
        update()
    }

    /// Looks what the calls need now.
    func update() {
        var new = calls.coordinator.audioNeeds(after: needs) { [calls] call in
            calls.coordinator.process(of: call).map { [$0] } ?? []
        }
        // Of what this process started, handlers and what rings, only those count that have a session.
        new.exempt.insert(getpid())
        guard new != needs else { return }
        if new.focus?.call != needs.focus?.call { activationAsked = new.focus.map { _ in calls.now } }
        needs = new
        submit(.calls(new))
    }

    func reconfigure(_ configuration: Configuration) {
        let way = AudioEngineWay(configuration, isRoot: geteuid() == 0)
        if way != program.way { program.change(to: way) }
        submit(.settingsChanged(configuration.audio.arbiterSettings(way)))
    }

    /// Applies one event, and those that follow from it.
    func submit(_ event: AudioEvent) { driver.submit(event) }

    /// The daemon stops: the other end of the line puts everything back.
    func close() {
        program.stop()
        driver.cancelTimer()
    }

    // MARK: - What the arbiter asks for

    private func run(_ effect: AudioEffect, of event: AudioEvent) {
        switch effect {
        case .startEngine: program.open()
        case .send(let request): program.send(request)
        case .stopEngine:
            program.close()
            effectsInForce = 0
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

    // MARK: - What the program reports

    private func gone(_ why: String) {
        effectsInForce = 0
        submit(.engineGone(why))
    }

    private func reported(_ report: AudioEngineReport) {
        switch report {
        case .ready(_, let mended) where mended > 0:
            counters.effectsUndone &+= UInt64(clamping: mended)
            logger.notice("effects of an earlier run put back", metadata: ["effects": "\(mended)"])
        case .applied(_, let applied):
            effectsInForce = applied.inForce
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
