internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// The arbiter of all sessions of a process, its driver, and the engine that carries out its plans. It belongs to the
/// thread that runs the loop.
final class SessionLoop {
    private struct Member {
        let session: SessionState
        /// Requests without an answer, the oldest first.
        var open: [Open] = []
    }

    private enum Open {
        case configuration
        case activation(SessionRequests.Completion)
    }

    private let requests: SessionRequests
    private let runLoop: RunLoop
    private let logger = Logger(label: "CallAudio")
    private let engine: SessionEngine
    private var arbiter = AudioArbiter()
    private var bellSource: ReadinessSource?
    private typealias Input = (event: AudioEvent, asking: AudioSessionID?)
    private lazy var driver = StateMachineDriver<Input>(
        runLoop: runLoop, tolerance: .milliseconds(100), wakingFromSuspend: false,
        deadlineReached: (.deadlineReached, nil),
        nextDeadline: { [unowned self] in
            arbiter.nextDeadline.map { BootClock.Instant(nanoseconds: $0.nanoseconds) }
        },
        apply: { [unowned self] in apply($0.event, from: $0.asking) })
    private var members: [AudioSessionID: Member] = [:]
    private var ids: [ObjectIdentifier: AudioSessionID] = [:]
    private var isOver = false

    /// - Throws: The kernel refuses a descriptor.
    init(_ requests: SessionRequests, environment: [String: String], address: PulseAddress) throws(RunLoopError) {
        self.requests = requests
        runLoop = try RunLoop(wakingFromSuspend: false)
        engine = SessionEngine(
            AudioEngineParts(
                environment: environment, address: address, runLoop: runLoop, logger: logger, version: "library"))
        bellSource = try runLoop.watch(requests.descriptor, for: .read, cause: WakeupCause("control")) {
            [unowned self] _ in takeRequests()
        }
        engine.onReport = { [unowned self] in reported($0) }
        engine.onGone = { [unowned self] in feed(.engineGone($0)) }
    }

    /// Runs until the service is closed and everything is undone: the thread's work.
    func run() {
        while !isOver { runLoop.runOnce(timeout: nil) }
        bellSource?.cancel()
        bellSource = nil
        // The engine's closures refer to this object.
        engine.onReport = nil
        engine.onGone = nil
    }

    private func finish() {
        guard bellSource != nil, !isOver else { return }
        for member in members.values { end(member) }
        members = [:]
        ids = [:]
        driver.cancelTimer()
        engine.onReport = nil
        engine.onGone = nil
        engine.stop { [self] in isOver = true }
    }

    // MARK: - Requests

    private func takeRequests() {
        // Read first: requests that were posted before the end are handled before it.
        let isClosed = requests.isClosed
        for (session, action) in requests.take() { take(action, of: session) }
        if isClosed { finish() }
    }

    private func take(_ action: SessionRequests.Action, of session: SessionState) {
        let id = ids[ObjectIdentifier(session)]
        switch action {
        case .open(let name):
            let id = arbiter.nextSessionID
            ids[ObjectIdentifier(session)] = id
            members[id] = Member(session: session)
            feed(.opened(id, AudioClient(processes: [getpid()], name: name), hasLease: true))
        case .close:
            guard let id, let member = members.removeValue(forKey: id) else { return }
            ids[ObjectIdentifier(session)] = nil
            end(member)
            feed(.closed(id))
        case .configure(let configuration): ask(id, .configuration) { .configured($0, configuration) }
        case .activate(let completion): ask(id, .activation(completion)) { .activationRequested($0) }
        case .deactivate(let notifies, let completion):
            ask(id, .activation(completion)) { .deactivationRequested($0, notifiesOthers: notifies) }
        case .overrideOutput(let isSpeaker): if let id { feed(.outputOverridden(id, isSpeaker: isSpeaker)) }
        case .setForeground(let isForeground): if let id { feed(.leaseChanged(id, hasLease: isForeground)) }
        }
    }

    /// Sends the arbiter a request that gets one answer.
    private func ask(_ id: AudioSessionID?, _ open: Open, _ event: (AudioSessionID) -> AudioEvent) {
        guard let id, members[id] != nil else { return answer(open, .failure(.closed), nil) }
        members[id]?.open.append(open)
        feed(event(id), from: id)
    }

    private func end(_ member: Member) {
        for open in member.open { answer(open, .failure(.closed), member.session) }
        member.session.observers.finish()
    }

    // MARK: - The arbiter

    private func reported(_ report: AudioEngineReport) {
        if case .problem(let what) = report { logger.warning("problem", metadata: ["what": "\(what)"]) }
        feed(.reported(report))
    }

    /// - Parameter asking: The session of this request: if the arbiter refuses it, that is the only answer.
    private func feed(_ event: AudioEvent, from asking: AudioSessionID? = nil) {
        if !isOver { driver.submit((event, asking)) }
    }

    private func apply(_ event: AudioEvent, from asking: AudioSessionID?) {
        guard !isOver else { return }
        let effects = arbiter.handle(event, at: BootInstant(nanoseconds: runLoop.refreshNow().nanoseconds))
        show()
        for effect in effects { run(effect, asking) }
    }

    private func run(_ effect: AudioEffect, _ asking: AudioSessionID?) {
        switch effect {
        case .startEngine: engine.start()
        case .send(let request): engine.send(request)
        case .stopEngine: engine.stop {}
        case .notify(let id, let notice):
            members[id]?.session.observers.notify(AudioSessionNotice(notice))
        case .answer(let id, let result):
            guard let member = members[id], !member.open.isEmpty else { return }
            if let open = members[id]?.open.removeFirst() { answer(open, result, member.session) }
        case .refused(let id, let error):
            if id == asking, let open = members[id]?.open.popLast() {
                answer(open, .failure(error), members[id]?.session)
            } else {
                logger.notice("refused", metadata: ["why": "\(error)"])
            }
        case .problem(let what): logger.warning("problem", metadata: ["what": "\(what)"])
        // These effects belong to calls and choices, which only the daemon has.
        case .answerChoice, .call: break
        }
    }

    private func answer(_ open: Open, _ result: Result<AudioRoute, AudioSessionError>, _ session: SessionState?) {
        switch open {
        case .activation(let completion): completion(result)
        case .configuration:
            guard let session else { return }
            session.shown.withLock { $0.openConfigurations -= 1 }
            show()
            if case .failure(let error) = result { session.observers.notify(.configurationRefused(error)) }
        }
    }

    /// Updates what each session shows, before its notices.
    private func show() {
        for (id, member) in members {
            guard let session = arbiter.sessions[id] else { continue }
            member.session.shown.withLock { shown in
                shown.state = AudioSessionState(session.machine.state)
                shown.route = arbiter.route
                shown.isInputAvailable = session.isInputAvailable
                shown.isOtherAudioPlaying = arbiter.isOtherAudioPlaying(for: id)
                shown.shouldBeSilenced = arbiter.secondaryAudioShouldBeSilenced(for: id)
                if shown.openConfigurations == 0 { shown.configuration = session.configuration }
            }
        }
    }
}

extension AudioSessionState {
    init(_ state: AudioSessionStateMachine.State) {
        self =
            switch state {
            case .inactive: .inactive
            case .activating: .activating
            case .active: .active
            case .interrupted: .interrupted
            case .deactivating: .deactivating
            case .lost: .lost
            }
    }
}
