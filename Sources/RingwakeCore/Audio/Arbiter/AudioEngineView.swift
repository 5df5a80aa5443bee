/// The holder of the connection to the audio server, as the arbiter sees it: there while it is needed, and told apart
/// from the server itself.
///
///     absent --needed--> starting --connected--> connected <--connected-- unavailable, lost
///       ^                 ^  |                        |
///       |                 |  +------ unavailable, lost (from any of the four)
///       |                 +-- ended: started again, at most `maximumRestarts` times
///       |                     within `restartWindow` --else--> failed --something new needs it--> starting
///       +-- not needed for as long as it lingers (from any); *failed*: at once
///
/// What holds: ``server`` is what is known of the server that is connected to, and empty in any other state.
package struct AudioEngineView: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Nobody needs it.
        case absent
        /// It was started, and has not reported how the server is.
        case starting
        case connected(AudioServerDescription)
        /// It is there, but no server: why.
        case unavailable(String)
        /// The server is gone; it is connected to again as soon as it is back.
        case lost(String)
        /// It could not be started, or ended too often: why. Started again when something new needs it.
        case failed(String)
    }

    /// What follows from its end.
    enum Ending { case ignored, forgotten, restarted, givenUp }

    /// How often it may end within ``restartWindow`` and be started again.
    private static let maximumRestarts = 3
    private static let restartWindow = Duration.seconds(10)
    /// One that has not answered for so long hangs, and is replaced.
    static let answerTime = Duration.seconds(10)

    package private(set) var state = State.absent
    /// What is known of the server.
    var server = AudioServerView()
    /// Whether there is one at all: without, everything is in force as soon as it is asked for.
    var isUsed: Bool
    private var lingersUntil: BootInstant?
    /// When it ended by itself, the last times.
    private var endings: [BootInstant] = []
    private var lastApply: UInt64 = 0

    init(isUsed: Bool) { self.isUsed = isUsed }

    package var isConnected: Bool { if case .connected = state { true } else { false } }

    /// Whether a plan comes into force when it is asked for.
    var isReady: Bool { isConnected || !isUsed }

    /// Whether the server will be reported, or reported away, without anything further.
    var isComing: Bool { isUsed && (state == .absent || state == .starting) }

    /// Why nothing can be activated; nil: it can, or soon can.
    var failure: AudioSessionError? {
        switch state {
        case .absent, .starting, .connected: nil
        case .unavailable(let why): AudioSessionError(.mediaServicesFailed, "no audio server: \(why)")
        case .lost(let why): AudioSessionError(.mediaServicesFailed, "the audio server is gone: \(why)")
        case .failed(let why): AudioSessionError(.mediaServicesFailed, "no way to the audio server: \(why)")
        }
    }

    var nextDeadline: BootInstant? { [lingersUntil, server.outstanding?.deadline].compactMap(\.self).min() }

    // MARK: - Needed, and not

    /// Starts it when it is needed, and has it linger when it is not.
    mutating func follow(isNeeded: Bool, linger: Duration, _ turn: inout AudioTurn) {
        switch state {
        case .absent: if isNeeded { start(&turn) }
        case .failed: if !isNeeded { state = .absent }
        case .starting, .connected, .unavailable, .lost:
            lingersUntil = isNeeded ? nil : lingersUntil ?? turn.now.advanced(by: max(linger, .zero))
        }
    }

    /// Something new needs it: where it was given up it may be started again, if it has not ended too often just now.
    mutating func revive(_ turn: inout AudioTurn) {
        guard isUsed, case .failed = state, mayStart(at: turn.now) else { return }
        start(&turn)
    }

    /// Who loads the configuration again may have seen to what was wrong.
    mutating func forgetEndings() { endings = [] }

    private mutating func start(_ turn: inout AudioTurn) {
        state = .starting
        turn.effects.append(.startEngine)
    }

    mutating func stop(_ turn: inout AudioTurn) {
        turn.effects.append(.stopEngine)
        leave(to: .absent)
    }

    /// Whether it has lingered for long enough.
    func isIdle(at now: BootInstant) -> Bool { lingersUntil.map { $0 <= now } ?? false }

    /// Whether it has not answered for too long.
    func hangs(at now: BootInstant) -> Bool { server.outstanding.map { $0.deadline <= now } ?? false }

    private mutating func leave(to next: State) {
        state = next
        lingersUntil = nil
    }

    private mutating func mayStart(at now: BootInstant) -> Bool {
        endings.removeAll { $0.duration(to: now) >= AudioEngineView.restartWindow }
        return endings.count <= AudioEngineView.maximumRestarts
    }

    // MARK: - What it reports

    /// Whether reports count: none does of one that was stopped.
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

    /// It ended, could not be started, or hangs.
    mutating func ended(_ why: String, isNeeded: Bool, at now: BootInstant) -> Ending {
        guard isThere else { return .ignored }
        endings.append(now)
        let mayStart = mayStart(at: now)
        leave(to: !isNeeded ? .absent : mayStart ? .starting : .failed(why))
        return !isNeeded ? .forgotten : mayStart ? .restarted : .givenUp
    }

    // MARK: - The plan

    /// Asks for a plan.
    mutating func ask(for plan: AudioPlan, resumes: Bool, _ turn: inout AudioTurn) {
        lastApply &+= 1
        server.ask(for: plan, lastApply, until: turn.now.advanced(by: AudioEngineView.answerTime))
        turn.effects.append(.send(.apply(number: lastApply, plan, resumes: resumes)))
    }
}

/// What is known of the server: gone with the connection to it.
struct AudioServerView: Hashable, Sendable {
    /// A plan that the engine has not answered for.
    struct Outstanding: Hashable, Sendable {
        let number: UInt64
        let plan: AudioPlan
        /// Why the route changes if it does by this.
        let reason: AudioRouteChangeReason
        /// When the engine is taken to hang.
        let deadline: BootInstant
    }

    /// The route that counts, as it was reported last.
    var route = AudioRoute()
    /// Sessions that play or record, and whether anybody else plays.
    var running: Set<AudioSessionID> = []
    var othersPlay = false
    var isMicrophoneMuted = false
    /// Why the route changes if it does by the next plan.
    var reason = AudioRouteChangeReason.categoryChange
    /// The plan that the server was made after.
    private(set) var planInForce = AudioPlan()
    private(set) var outstanding: Outstanding?
    /// The plan that was refused last, with no request to blame: not asked for again as it is.
    private var refused: AudioPlan?
    /// What the engine was told that a call would need.
    private var prepared: AudioPlan?

    fileprivate mutating func ask(for plan: AudioPlan, _ number: UInt64, until deadline: BootInstant) {
        outstanding = Outstanding(number: number, plan: plan, reason: reason, deadline: deadline)
        reason = .categoryChange
    }

    /// Takes the answer for the plan of this number; nil: it was not asked for.
    mutating func takeAnswer(_ number: UInt64) -> Outstanding? {
        guard let asked = outstanding, asked.number == number else { return nil }
        outstanding = nil
        return asked
    }

    mutating func noteInForce(_ plan: AudioPlan) {
        refused = nil
        planInForce = plan
    }

    /// Sessions left the plan while their streams ran: these are silent already.
    mutating func noteSilenced(_ busy: Set<AudioSessionID>, as plan: AudioPlan) {
        for id in busy { planInForce.silenced[id] = plan.silenced[id] }
    }

    mutating func noteRefused(_ plan: AudioPlan) { refused = plan }

    /// With another device a plan may do that was refused.
    mutating func allowRefused() { refused = nil }

    /// Whether this plan is to be asked for.
    func lacks(_ plan: AudioPlan, isRequested: Bool) -> Bool {
        plan != planInForce && (isRequested || plan != refused)
    }

    /// Gets ready for what a call would need; nil: none is expected.
    mutating func prepare(_ plan: AudioPlan?, _ turn: inout AudioTurn) {
        guard plan != prepared else { return }
        prepared = plan
        if let plan { turn.effects.append(.send(.prepare(plan))) }
    }
}
