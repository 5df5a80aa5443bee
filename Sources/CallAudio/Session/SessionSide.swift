internal import Glibc
internal import Logging
internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// The loop's side of a hub: the arbiter, what drives it, and the engine that does what it says. It belongs to the thread
/// that runs the loop.
final class SessionSide {
    private struct Member {
        let seat: SessionSeat
        /// Those that wait for an answer, the oldest first.
        var open: [Open] = []
    }

    private enum Open {
        case configuration
        case activation(SessionBoard.Completion)
    }

    private let board: SessionBoard
    private let runLoop: RunLoop
    private let logger = Logger(label: "CallAudio")
    private let engine: SessionEngine
    private var arbiter = AudioArbiter()
    private var bellSource: ReadinessSource?
    private var timer: (deadline: BootInstant, timer: Timer)?
    private var members: [AudioSessionID: Member] = [:]
    private var ids: [UInt64: AudioSessionID] = [:]
    private var isOver = false

    /// - Throws: The kernel refuses a descriptor.
    init(_ board: SessionBoard, environment: [String: String], address: PulseAddress) throws(RunLoopError) {
        self.board = board
        runLoop = try RunLoop(wakingFromSuspend: false)
        engine = SessionEngine(
            AudioEngineParts(
                environment: environment, address: address, runLoop: runLoop, logger: logger, version: "library"))
        bellSource = try runLoop.watch(board.descriptor, for: .read, cause: WakeupCause("control")) {
            [unowned self] _ in takeRequests()
        }
        engine.onReport = { [unowned self] in reported($0) }
        engine.onGone = { [unowned self] in feed(.engineGone($0)) }
    }

    /// Takes turns until the board is closed and everything is put back: what the thread does.
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
        for (id, member) in members { end(id, member) }
        members = [:]
        ids = [:]
        if let timer { runLoop.cancel(timer.timer) }
        timer = nil
        engine.onReport = nil
        engine.onGone = nil
        engine.stop { [self] in isOver = true }
    }

    // MARK: - Requests

    private func takeRequests() {
        // Looked at first: what is asked for before the end is taken before it.
        let isClosed = board.isClosed
        for request in board.take() { take(request) }
        if isClosed { finish() }
    }

    private func take(_ request: SessionBoard.Request) {
        switch request {
        case .open(let seat, let name): open(seat, name)
        case .close(let number):
            guard let id = ids.removeValue(forKey: number), let member = members.removeValue(forKey: id) else { return }
            end(id, member)
            feed(.closed(id, hasDied: false))
        case .configure(let number, let configuration):
            ask(number, .configuration) { .configured($0, configuration) }
        case .activate(let number, let completion):
            ask(number, .activation(completion)) { .activationRequested($0) }
        case .deactivate(let number, let notifies, let completion):
            ask(number, .activation(completion)) { .deactivationRequested($0, notifiesOthers: notifies) }
        case .overrideOutput(let number, let isSpeaker):
            if let id = ids[number] { feed(.outputOverridden(id, isSpeaker: isSpeaker)) }
        case .setForeground(let number, let isForeground):
            if let id = ids[number] { feed(.leaseChanged(id, hasLease: isForeground)) }
        }
    }

    private func open(_ seat: SessionSeat, _ name: String) {
        let id = arbiter.nextSessionID
        ids[seat.number] = id
        members[id] = Member(seat: seat)
        feed(.opened(id, AudioClient(processes: [getpid()], name: name), hasLease: true))
    }

    /// Asks the arbiter for something that it answers once.
    private func ask(_ number: UInt64, _ open: Open, _ event: (AudioSessionID) -> AudioEvent) {
        guard let id = ids[number], members[id] != nil else {
            return answer(open, .failure(SessionSide.expired), nil)
        }
        members[id]?.open.append(open)
        feed(event(id), from: id)
    }

    private func end(_ id: AudioSessionID, _ member: Member) {
        for open in member.open { answer(open, .failure(SessionSide.expired), member.seat) }
        member.seat.shown.withLock { $0.isClosed = true }
        member.seat.notices.finish()
    }

    private static let expired = AudioSessionError(.expiredSession, "the session was closed; make another")

    // MARK: - The arbiter

    private func reported(_ report: AudioEngineReport) {
        if case .problem(let what) = report { logger.warning("problem", metadata: ["what": "\(what)"]) }
        feed(.reported(report))
    }

    /// - Parameter asking: Whose request this is: if the arbiter refuses it, it has no other answer.
    private func feed(_ event: AudioEvent, from asking: AudioSessionID? = nil) {
        guard !isOver else { return }
        let effects = arbiter.handle(event, at: BootInstant(nanoseconds: runLoop.refreshNow().nanoseconds))
        show()
        for effect in effects { run(effect, asking) }
        setTimer()
    }

    private func run(_ effect: AudioEffect, _ asking: AudioSessionID?) {
        switch effect {
        case .startEngine: engine.start()
        case .send(let request): engine.send(request)
        case .stopEngine: engine.stop {}
        case .notify(let id, let notice):
            members[id]?.seat.notices.tell(AudioSessionNotice(notice))
        case .answer(let id, let result):
            guard let member = members[id], !member.open.isEmpty else { return }
            if let open = members[id]?.open.removeFirst() { answer(open, result, member.seat) }
        case .refused(let id, let error):
            if id == asking, let open = members[id]?.open.popLast() {
                answer(open, .failure(error), members[id]?.seat)
            } else {
                logger.notice("refused", metadata: ["why": "\(error)"])
            }
        case .problem(let what): logger.warning("problem", metadata: ["what": "\(what)"])
        // There are no calls here, and nobody chooses for them: these are the daemon's alone.
        case .answerChoice, .call: break
        }
    }

    private func answer(_ open: Open, _ result: Result<AudioRoute, AudioSessionError>, _ seat: SessionSeat?) {
        switch open {
        case .activation(let completion): completion(result)
        case .configuration:
            guard let seat else { return }
            seat.shown.withLock { $0.openConfigurations -= 1 }
            show()
            if case .failure(let error) = result { seat.notices.tell(.configurationRefused(error)) }
        }
    }

    /// Lets each session show how things are, before it is told that they are so.
    private func show() {
        for (id, member) in members {
            guard let session = arbiter.sessions[id] else { continue }
            member.seat.shown.withLock { shown in
                shown.state = AudioSessionState(session.machine.state)
                shown.route = arbiter.route
                shown.isOtherAudioPlaying = arbiter.isOtherAudioPlaying(for: id)
                shown.shouldBeSilenced = arbiter.secondaryAudioShouldBeSilenced(for: id)
                if shown.openConfigurations == 0 { shown.configuration = session.configuration }
            }
        }
    }

    private func setTimer() {
        let deadline = arbiter.nextDeadline
        guard deadline != timer?.deadline else { return }
        if let timer { runLoop.cancel(timer.timer) }
        timer = nil
        guard let deadline else { return }
        let timer = runLoop.schedule(
            at: BootClock.Instant(nanoseconds: deadline.nanoseconds), tolerance: .milliseconds(100),
            wakingFromSuspend: false
        ) { [unowned self] in
            self.timer = nil
            feed(.deadlineReached)
        }
        self.timer = (deadline, timer)
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
