/// The engine, which holds the connection to the audio server, as the arbiter sees it. It runs while it is needed. The
/// state of the server is separate from it.
///
///     absent --needed--> starting --connected--> connected <--connected-- unavailable, lost
///       ^                 ^  |                        |
///       |                 |  +------ unavailable, lost (from any of the four)
///       |                 +-- ended: started again, at most `maximumRestarts` times
///       |                     within `restartWindow` --else--> failed --something new needs it, or time passes--> starting
///       +-- not needed for as long as it lingers (from any); *failed*: at once
///
/// What holds: ``server`` describes the connected server, and is empty in every other state.
package struct AudioEngineView: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// The engine does not run, because nothing needs it.
        case absent
        /// The engine was started, and has not reported on the server yet.
        case starting
        case connected(AudioServerDescription)
        /// The engine runs, but there is no server: the reason.
        case unavailable(String)
        /// The server is gone: the reason. The engine reconnects as soon as the server is back.
        case lost(String)
        /// The engine could not be started, or ended too often: the reason. It is started again when something new
        /// needs it, and at `retryAt` for what still does.
        case failed(String, retryAt: BootInstant)
    }

    /// What follows from the end of the engine.
    enum Ending {
        case ignored, forgotten, restarted
        /// It is started again after this pause, if it is still needed.
        case givenUp(Duration)
    }

    /// How often the engine is restarted within ``restartWindow``.
    private static let maximumRestarts = 3
    private static let restartWindow = Duration.seconds(10)
    /// When an engine that ended too often is started again: the pause after the first failure, the second, and every
    /// further one until a plan is in force. A call that goes on gets its audio as soon as the cause is gone, and a cause
    /// that stays costs one start a minute.
    private static let retryTimes: [Duration] = [.seconds(5), .seconds(15), .seconds(30), .seconds(60)]
    /// An engine that has not answered for this long hangs, and is replaced.
    static let answerTime = Duration.seconds(10)

    package private(set) var state = State.absent
    /// The state of the server.
    var server = AudioServerView()
    /// Whether there is an engine at all. Without one, everything takes effect at once.
    var isUsed: Bool
    private var lingersUntil: BootInstant?
    /// The recent times at which the engine ended by itself.
    private var endings: [BootInstant] = []
    /// How often it has failed since a plan was last in force, or nothing needed it. A connection alone proves nothing:
    /// plans may be what it dies of.
    private var failures = 0
    private var lastApply: UInt64 = 0

    init(isUsed: Bool) { self.isUsed = isUsed }

    package var isConnected: Bool { if case .connected = state { true } else { false } }

    /// Whether the engine was asked to undo everything, and has not answered.
    package var isUndoing: Bool { server.outstanding?.plan.isEmpty ?? false }

    /// Whether a plan can take effect now.
    var isReady: Bool { isConnected || !isUsed }

    /// Whether the engine will report on the server without a further request.
    var isComing: Bool { isUsed && (state == .absent || state == .starting) }

    /// Why nothing can be activated; nil if activation works, or soon may.
    var failure: AudioSessionError? {
        switch state {
        case .absent, .starting, .connected: nil
        case .unavailable(let why): AudioSessionError(.mediaServicesFailed, "no audio server: \(why)")
        case .lost(let why): AudioSessionError(.mediaServicesFailed, "the audio server is gone: \(why)")
        case .failed(let why, _): AudioSessionError(.mediaServicesFailed, "no way to the audio server: \(why)")
        }
    }

    var nextDeadline: BootInstant? { [lingersUntil, server.outstanding?.deadline, retryAt].compactMap(\.self).min() }

    private var retryAt: BootInstant? { if case .failed(_, let retryAt) = state { retryAt } else { nil } }

    // MARK: - Start and stop

    /// Starts the engine when it is needed, and starts its linger time when it is not.
    mutating func follow(isNeeded: Bool, linger: Duration, _ turn: inout AudioTurn) {
        switch state {
        case .absent: if isNeeded { start(&turn) }
        case .failed:
            guard !isNeeded else { break }
            state = .absent
            failures = 0
        case .starting, .connected, .unavailable, .lost:
            lingersUntil = isNeeded ? nil : lingersUntil ?? turn.now.advanced(by: max(linger, .zero))
        }
    }

    /// Something new needs the engine: starts it again after a failure, unless it has ended too often in the last
    /// seconds.
    mutating func revive(_ turn: inout AudioTurn) {
        guard isUsed, case .failed = state, mayStart(at: turn.now) else { return }
        start(&turn)
    }

    /// Starts the engine again after a failure, when it is time.
    mutating func retry(_ turn: inout AudioTurn) {
        if let retryAt, retryAt <= turn.now { start(&turn) }
    }

    /// A reloaded configuration may have removed the cause.
    mutating func forgetEndings() { (endings, failures) = ([], 0) }

    private mutating func start(_ turn: inout AudioTurn) {
        state = .starting
        turn.effects.append(.startEngine)
    }

    mutating func stop(_ turn: inout AudioTurn) {
        turn.effects.append(.stopEngine)
        leave(to: .absent)
    }

    /// Whether the linger time is over.
    func isIdle(at now: BootInstant) -> Bool { lingersUntil.map { $0 <= now } ?? false }

    /// Whether the engine's answer is overdue.
    func hangs(at now: BootInstant) -> Bool { server.outstanding.map { $0.deadline <= now } ?? false }

    private mutating func leave(to next: State) {
        state = next
        lingersUntil = nil
    }

    private mutating func mayStart(at now: BootInstant) -> Bool {
        endings.removeAll { $0.duration(to: now) >= AudioEngineView.restartWindow }
        return endings.count <= AudioEngineView.maximumRestarts
    }

    // MARK: - Reports

    /// Whether reports count. Those of a stopped engine don't.
    var isThere: Bool {
        switch state {
        case .absent, .failed: false
        case .starting, .connected, .unavailable, .lost: true
        }
    }

    mutating func connected(_ description: AudioServerDescription, _ route: AudioRoute) {
        state = .connected(description)
        server.route = route
    }

    mutating func disconnected(_ report: AudioEngineReport) {
        if case .unavailable(let why) = report { state = .unavailable(why) }
        if case .lost(let why) = report { state = .lost(why) }
    }

    /// The engine ended, could not be started, or hangs.
    mutating func ended(_ why: String, isNeeded: Bool, at now: BootInstant) -> Ending {
        guard isThere else { return .ignored }
        endings.append(now)
        // After a failure, one attempt at a time.
        let mayStart = failures == 0 && mayStart(at: now)
        guard isNeeded, !mayStart else {
            leave(to: isNeeded ? .starting : .absent)
            return isNeeded ? .restarted : .forgotten
        }
        let pause = AudioEngineView.retryTimes[min(failures, AudioEngineView.retryTimes.count - 1)]
        failures += 1
        leave(to: .failed(why, retryAt: now.advanced(by: pause)))
        return .givenUp(pause)
    }

    // MARK: - The plan

    /// Sends a plan to the engine.
    mutating func ask(for plan: AudioPlan, resumes: Bool, _ turn: inout AudioTurn) {
        lastApply &+= 1
        server.ask(for: plan, lastApply, until: turn.now.advanced(by: AudioEngineView.answerTime))
        turn.effects.append(.send(.apply(number: lastApply, plan, resumes: resumes)))
    }

    /// The engine has carried out a plan.
    mutating func noteInForce(_ plan: AudioPlan) {
        failures = 0
        server.noteInForce(plan)
    }
}

/// The state of the connected server. It is dropped when the connection is.
struct AudioServerView: Hashable, Sendable {
    /// A plan that the engine has not answered yet.
    struct Outstanding: Hashable, Sendable {
        let number: UInt64
        let plan: AudioPlan
        /// The reason to report if this plan changes the route.
        let reason: AudioRouteChangeReason
        /// When the engine counts as hung.
        let deadline: BootInstant
    }

    /// The current route, as last reported.
    var route = AudioRoute()
    /// Sessions that play or record, and whether any other program plays.
    var running: Set<AudioSessionID> = []
    var othersPlay = false
    var isMicrophoneMuted = false
    /// The reason to report if the next plan changes the route.
    var reason = AudioRouteChangeReason.categoryChange
    /// The plan that is in force.
    private(set) var planInForce = AudioPlan()
    private(set) var outstanding: Outstanding?
    /// The plan that the server refused last, if no client's request caused it. It is not sent again unchanged.
    private var refused: AudioPlan?
    /// The plan of an expected call that the engine prepares for.
    private var prepared: AudioPlan?

    fileprivate mutating func ask(for plan: AudioPlan, _ number: UInt64, until deadline: BootInstant) {
        outstanding = Outstanding(number: number, plan: plan, reason: reason, deadline: deadline)
        reason = .categoryChange
    }

    /// Takes the answer to the plan with this number; nil if that plan is not outstanding.
    mutating func takeAnswer(_ number: UInt64) -> Outstanding? {
        guard let asked = outstanding, asked.number == number else { return nil }
        outstanding = nil
        return asked
    }

    mutating func noteInForce(_ plan: AudioPlan) {
        refused = nil
        planInForce = plan
    }

    /// Some sessions left the plan while their streams ran. The server has already silenced these.
    mutating func noteSilenced(_ busy: Set<AudioSessionID>, as plan: AudioPlan) {
        for id in busy { planInForce.silenced[id] = plan.silenced[id] }
    }

    mutating func noteRefused(_ plan: AudioPlan) { refused = plan }

    /// A refused plan may work with another device.
    mutating func allowRefused() { refused = nil }

    /// Whether to send this plan.
    func lacks(_ plan: AudioPlan, isRequested: Bool) -> Bool {
        plan != planInForce && (isRequested || plan != refused)
    }

    /// Prepares the engine for what a call would need; nil: no call is expected.
    mutating func prepare(_ plan: AudioPlan?, _ turn: inout AudioTurn) {
        guard plan != prepared else { return }
        prepared = plan
        if let plan { turn.effects.append(.send(.prepare(plan))) }
    }
}
