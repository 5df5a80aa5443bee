/// All audio sessions of one user, including the session of the calls. Only the arbiter decides which sessions play.
///
///     client --opened, configured, activationRequested--> AudioSessions, AudioRequests --+
///     coordinator --calls--> CallSession ------------------------------------------------+--> AudioScene.plan
///     user --outputChosen--> OutputChoices --> (the engine)                              |      | differs from the one
///     holder of the server --reported--> AudioEngineView ---------------------------------+      v in force
///
///        answer, notify, call <--- settle <--- applied <--- send(apply) <---------------+
///
/// | part | what it knows |
/// |---|---|
/// | `AudioRequests`, ``AudioSessions`` | what clients have asked for; their sessions, and who interrupted whom |
/// | `AudioScene` | the state besides these; the rules as a table, and the plan that follows |
/// | ``CallSession`` | the one session of all calls |
/// | ``AudioEngineView`` | whether the engine is there, and the plan that is in force |
/// | `OutputChoices` | the output that the user has chosen |
///
/// What holds after every event:
/// - at most one `apply` is unanswered; a session becomes active, and a call is reported active, only after the
///   `applied` of a plan that contains it (without an engine: at once);
/// - each request of a client is answered exactly once, in order per session, within
///   ``CallAudioSettings/activationTime``; a `refused` request is refused in the turn of its event, and gets no other
///   answer;
/// - each choice of an output is answered exactly once, within ``choiceTime``;
/// - `activated` and `deactivated` alternate for each call, and at most one call is active;
/// - sessions, requests and choices are bounded by ``maximumSessions``, ``maximumRequests`` and ``maximumChoices``.
///
/// Decisions that the rules leave open:
/// - If the activation of a call takes too long, the arbiter reports it as failed, and the call continues. If the
///   server acknowledges it later, the arbiter reports the call's audio as active then.
/// - If the server does not acknowledge a deactivation in time, the arbiter answers it as done: the session is
///   inactive, and its effects on others are undone as soon as the server answers.
///
/// A value without clock and I/O: the driver passes the time, runs the effects in order, and keeps one timer at
/// ``nextDeadline``. After `stopEngine`, the driver reports nothing more from that engine, not even its end.
package struct AudioArbiter: Hashable, Sendable {
    /// The maximum number of open client sessions.
    package static let maximumSessions = 64
    /// The maximum number of waiting requests per session.
    package static let maximumRequests = 8
    /// The maximum number of output choices that wait for the server.
    package static let maximumChoices = 16
    /// How long a choice of an output may take: the engine may have to connect to the server, or to switch a headset.
    /// Shorter than the clients' timeout.
    package static let choiceTime = Duration.seconds(5)

    /// The state besides the sessions of clients.
    private var scene: AudioScene
    /// The sessions of clients, and their requests.
    private var clients = AudioRequests()
    private var choices = OutputChoices()
    /// A call rings, or a call that rang is being answered.
    private var isRinging = false

    package init(settings: CallAudioSettings = CallAudioSettings()) { scene = AudioScene(settings: settings) }

    /// Applies one event.
    package mutating func handle(_ event: AudioEvent, at now: BootInstant) -> [AudioEffect] {
        var turn = AudioTurn(now: now)
        apply(event, &turn)
        proceed(&turn)
        if choices.proceed(scene.engine, &turn) { dropSpeaker() }
        followEngine(&turn)
        clients.sessions.notifyHints(scene, &turn)
        if engine.isReady { clients.sessions.notifyInputs(route.isInputAvailable, &turn) }
        return turn.effects
    }

    private mutating func apply(_ event: AudioEvent, _ turn: inout AudioTurn) {
        switch event {
        case .opened(let id, let client, let hasLease):
            if let error = clients.sessions.open(id, client, hasLease: hasLease, route: route, at: turn.now) {
                return turn.effects.append(.refused(id, error))
            }
            scene.engine.revive(&turn)
        case .closed(let id):
            guard clients.sessions.isOpen(id, &turn) else { return }
            scene.engine.server.running.remove(id)
            clients.close(id, &turn)
        case .leaseChanged(let id, let hasLease):
            if clients.sessions.isOpen(id, &turn) { clients.sessions[id]?.hasLease = hasLease }
        case .configured(let id, let configuration): ask(id, .configure(configuration), &turn)
        case .outputOverridden(let id, let isSpeaker): overrideOutput(id, isSpeaker: isSpeaker, &turn)
        case .activationRequested(let id): ask(id, .activate, &turn)
        case .deactivationRequested(let id, let notifies): ask(id, .deactivate(notifiesOthers: notifies), &turn)
        case .calls(let needs): change(to: needs, &turn)
        case .outputChosen(let name, let number):
            if choices.choose(name, number, &turn) { scene.engine.revive(&turn) }
        case .settingsChanged(let settings): change(to: settings, &turn)
        case .wokeFromSleep: if scene.engine.isConnected { turn.effects.append(.send(.wokeFromSleep)) }
        case .reported(let report): if scene.engine.isThere { take(report, &turn) }
        case .engineGone(let why): engineGone(why, &turn)
        case .deadlineReached: passDeadlines(&turn)
        }
    }

    /// When ``AudioEvent/deadlineReached`` is due; nil if nothing is pending.
    package var nextDeadline: BootInstant? {
        [clients.nextDeadline, call.deadline, choices.nextDeadline, engine.nextDeadline].compactMap(\.self).min()
    }

    private mutating func passDeadlines(_ turn: inout AudioTurn) {
        clients.passDeadlines(scene, &turn)
        followCall(scene.call.passDeadline(turn.now, scene.timedOut), &turn)
        choices.passDeadlines(&turn)
        if engine.isIdle(at: turn.now) { stopEngine(&turn) }
        if engine.hangs(at: turn.now) {
            turn.effects.append(.stopEngine)
            engineGone("it has not answered for \(AudioEngineView.answerTime.milliseconds) ms", &turn)
        }
        scene.engine.retry(&turn)
    }

    // MARK: - What clients ask for

    private mutating func ask(_ id: AudioSessionID, _ kind: AudioRequests.Kind, _ turn: inout AudioTurn) {
        if kind == .activate, sessions[id] != nil { scene.engine.revive(&turn) }
        clients.ask(id, kind, scene, &turn)
    }

    /// Forces the speaker, or stops forcing it. The override lasts until the route or the session changes.
    private mutating func overrideOutput(_ id: AudioSessionID, isSpeaker: Bool, _ turn: inout AudioTurn) {
        guard id == .call || clients.sessions.isOpen(id, &turn) else { return }
        guard id == .call ? call.isInPlan : sessions[id]?.machine.state.name == .active else {
            return turn.refuse(id, .sessionNotActive, id == .call ? "no call is in focus" : "the session is not active")
        }
        guard (id == .call ? call.isSpeakerForced : sessions[id]?.isSpeakerForced) != isSpeaker else { return }
        if id == .call {
            scene.call.isSpeakerForced = isSpeaker
        } else {
            clients.sessions[id]?.isSpeakerForced = isSpeaker
        }
        scene.engine.server.reason = .override
        // The later of the speaker override and the user's choice of an output wins.
        if isSpeaker { choices.overtake(isConnected: engine.isConnected, &turn) }
    }

    private mutating func dropSpeaker() {
        scene.call.isSpeakerForced = false
        clients.sessions.dropSpeaker()
    }

    // MARK: - What the calls need

    private mutating func change(to needs: CallAudioNeeds, _ turn: inout AudioTurn) {
        guard needs != scene.needs else { return }
        scene.needs = needs
        scene.engine.revive(&turn)
        isRinging = needs.isRinging || (isRinging && needs.isFocusComing)
        let limit = scene.limit(from: turn.now)
        followCall(scene.call.follow(needs, failure: engine.failure, route: engine.server.route, until: limit), &turn)
    }

    private mutating func retryCall(_ turn: inout AudioTurn) {
        followCall(scene.call.retry(failure: engine.failure, until: scene.limit(from: turn.now)), &turn)
    }

    /// These effects may have moved the call into the plan or out of it. If it left, the sessions that it interrupted
    /// are released.
    private mutating func followCall(_ effects: [AudioEffect], _ turn: inout AudioTurn) {
        turn.effects += effects
        follow(.call, isWanted: call.isInPlan, \.call.order)
    }

    /// A session of the daemon has an order number while it is wanted.
    private mutating func follow(
        _ id: AudioSessionID, isWanted: Bool, _ order: WritableKeyPath<AudioScene, UInt64?>
    ) {
        guard isWanted != (scene[keyPath: order] != nil) else { return }
        scene[keyPath: order] = isWanted ? clients.sessions.nextOrder() : nil
        if !isWanted { clients.sessions.release(.session(id), shouldResume: true) }
    }

    // MARK: - The engine

    private var isEngineNeeded: Bool {
        let isCall = needs.isAnyCall || needs.isRinging || needs.focus != nil || call.state != .idle
        return engine.isUsed && (choices.isAwaited || !sessions.isEmpty || isCall)
    }

    /// Keeps the engine running while it is needed, and prepares it for an expected call.
    private mutating func followEngine(_ turn: inout AudioTurn) {
        scene.engine.follow(isNeeded: isEngineNeeded, linger: scene.settings.linger, &turn)
        guard isEngineNeeded, engine.isConnected, engine.server.outstanding == nil else { return }
        let isExpected = needs.isAnyCall && needs.focus == nil && !call.isInPlan
        scene.engine.server.prepare(isExpected ? scene.expectedPlan(for: clients.sessions) : nil, &turn)
    }

    private mutating func change(to settings: CallAudioSettings, _ turn: inout AudioTurn) {
        scene.settings = settings
        if engine.isUsed == settings.hasEngine {
            scene.engine.forgetEndings()
            return scene.engine.revive(&turn)
        }
        scene.engine.isUsed = settings.hasEngine
        // Active sessions stay active, and take effect when the server is connected.
        if settings.hasEngine { return scene.engine.server.noteInForce(AudioPlan()) }
        // From now on nothing waits for the server: every request takes effect at once.
        if engine.state != .absent { stopEngine(&turn) }
        clients.sessions.reset(&turn)
        retryCall(&turn)
    }

    private mutating func stopEngine(_ turn: inout AudioTurn) {
        scene.engine.stop(&turn)
        forgetServer()
    }

    /// Drops everything that was sent to the server and everything that it reported.
    private mutating func forgetServer() {
        scene.engine.server = AudioServerView()
        clients.sessions.resumesPlayers = true
        choices.forgetSent()
    }

    /// The engine ended, could not be started, or hangs.
    private mutating func engineGone(_ why: String, _ turn: inout AudioTurn) {
        let wasConnected = engine.isConnected
        switch scene.engine.ended(why, isNeeded: isEngineNeeded, at: turn.now) {
        case .ignored: break
        case .forgotten: forgetServer()
        case .restarted:
            if wasConnected { loseServer(why, wasThere: true, &turn) }
            turn.effects.append(.startEngine)
        case .givenUp(let pause):
            loseServer(why, wasThere: wasConnected, &turn)
            let seconds = pause.milliseconds / 1_000
            turn.effects.append(.problem("the audio program is started again in \(seconds) s: \(why)"))
        }
    }

    /// The server is gone: notifies the sessions that used it, and the calls.
    private mutating func loseServer(_ why: String, wasThere: Bool, _ turn: inout AudioTurn) {
        let error = AudioSessionError(.mediaServicesFailed, "the audio server is gone: \(why)")
        clients.lose(error, scene, &turn)
        clients.sessions.lose(wasThere: wasThere, &turn)
        followCall(scene.call.lose(engine.failure ?? error), &turn)
        forgetServer()
    }

    private mutating func take(_ report: AudioEngineReport, _ turn: inout AudioTurn) {
        let wasConnected = engine.isConnected
        switch report {
        case .ready, .effects: break
        case .problem(let what): turn.effects.append(.problem(what))
        case .connected(let description, let route):
            // Nothing is in force yet on a newly connected server.
            if wasConnected { loseServer("it was connected to anew", wasThere: true, &turn) }
            scene.engine.connected(description, route)
            clients.sessions.reset(&turn)
            if let chosenOutput { turn.effects.append(.send(.chooseOutput(chosenOutput))) }
            retryCall(&turn)
        case .unavailable(let why), .lost(let why):
            scene.engine.disconnected(report)
            loseServer(why, wasThere: wasConnected, &turn)
        case _ where !wasConnected: break
        case .applied(let number, let applied): planAnswered(number, .success(applied), &turn)
        case .refused(let number, let error): planAnswered(number, .failure(error), &turn)
        case .outputChosen(let number, let isKnown):
            if choices.answered(number, isKnown: isKnown, &turn) { dropSpeaker() }
        case .routeChanged(let reason, _, let route):
            if !route.hasSamePorts(as: self.route) { dropSpeaker() }
            move(to: route, reason, &turn)
            scene.engine.server.allowRefused()
            retryCall(&turn)
        case .routeDisconnected:
            clients.sessions.interrupt(by: nil, because: .routeDisconnected, &turn) {
                !$1.configuration.category.hasInput
            }
        case .microphoneMuted(let isMuted): microphoneMuted(isMuted, &turn)
        case .activity(let running, let othersPlay):
            (scene.engine.server.running, scene.engine.server.othersPlay) = (running, othersPlay)
        }
    }

    private mutating func microphoneMuted(_ isMuted: Bool, _ turn: inout AudioTurn) {
        guard engine.server.isMicrophoneMuted != isMuted else { return }
        scene.engine.server.isMicrophoneMuted = isMuted
        guard isMuted else { return clients.sessions.release(.microphone, shouldResume: true) }
        guard route.inputs.isEmpty || route.inputs.contains(where: { $0.kind == .builtInMicrophone }) else { return }
        clients.sessions.interrupt(by: .microphone, because: .builtInMicMuted, &turn) { _, session in
            session.configuration.category.hasInput
                && !session.configuration.effectiveOptions.contains(.overrideMutedMicrophoneInterruption)
        }
    }

    // MARK: - How a plan comes into force, and what follows

    /// Continues until an answer is needed: one plan and one request at a time.
    private mutating func proceed(_ turn: inout AudioTurn) {
        // Ringing has a session only while it affects others.
        follow(.ringing, isWanted: isRinging && scene.settings.othersWhileRinging != .leave, \.ringing)
        while engine.server.outstanding == nil {
            if engine.isReady {
                for own in scene.own where own.others == .interrupt {
                    clients.sessions.interrupt(by: .session(own.id), &turn) { _, session in
                        session.machine.state.order.map { $0 < own.order } ?? false
                    }
                }
                let plan = plan
                if !engine.isUsed {
                    scene.engine.server.noteInForce(plan)
                } else if engine.server.lacks(plan, isRequested: clients.isWorking) {
                    scene.engine.ask(for: plan, resumes: clients.sessions.resumesPlayers, &turn)
                    clients.sessions.resumesPlayers = true
                    return
                }
            }
            // The server matches the plan, or cannot be changed to match it.
            settle(route: route, .categoryChange, isFinal: true, &turn)
            guard clients.beginNext(scene, &turn) else { return }
        }
    }

    private mutating func planAnswered(
        _ number: UInt64, _ answer: Result<AudioApplied, AudioSessionError>, _ turn: inout AudioTurn
    ) {
        guard let asked = scene.engine.server.takeAnswer(number) else {
            return turn.effects.append(.problem("the audio program answers for a plan that it was not asked for"))
        }
        switch answer {
        case .success(let applied):
            scene.engine.noteInForce(asked.plan)
            if applied.busy.contains(.call) { scene.call.noteBusy() }
            settle(busy: applied.busy, route: applied.route, asked.reason, isFinal: false, &turn)
            scene.engine.server.noteSilenced(applied.busy, as: plan)
        case .failure(let error) where clients.isWorking: clients.fail(error, scene, &turn)
        case .failure(let error):
            if case .activating = call.state, asked.plan.sessions.first == scene.plannedCall {
                return followCall(scene.call.fail(error), &turn)
            }
            scene.engine.server.noteRefused(asked.plan)
            turn.effects.append(.problem("the audio server cannot be made as it should be: \(error)"))
        }
    }

    /// A plan has taken effect: reports the route first, then answers the client's request.
    private mutating func settle(
        busy: Set<AudioSessionID> = [], route: AudioRoute, _ reason: AudioRouteChangeReason, isFinal: Bool,
        _ turn: inout AudioTurn
    ) {
        let done = clients.conclude(busy: busy)
        move(to: route, reason, &turn)
        if let done { turn.answer(done.session, done.error.map { .failure($0) } ?? .success(route)) }
        let call = scene.call.settle(
            engine.isReady ? planInForce : nil, others: scene.settings.others, route: route, isFinal: isFinal)
        followCall(call, &turn)
        clients.sessions.notifyReleased(after: isFinal ? nil : planInForce, scene, &turn)
    }

    /// The current route has changed: notifies the active call and the active sessions.
    private mutating func move(to new: AudioRoute, _ reason: AudioRouteChangeReason, _ turn: inout AudioTurn) {
        let previous = route
        guard new != previous else { return }
        scene.engine.server.route = new
        for call in call.activeCalls {
            turn.effects.append(.call(call, .routeChanged(reason, previous: previous, current: new)))
        }
        if new.hasSamePorts(as: previous) { return }
        for id in clients.sessions.ids where sessions[id]?.machine.state.name == .active {
            turn.notify(id, .routeChanged(reason, previous: previous, current: new))
        }
    }

    // MARK: - Reading the state

    /// What the calls need, as last reported.
    package var needs: CallAudioNeeds { scene.needs }
    package var call: CallSession { scene.call }
    package var engine: AudioEngineView { scene.engine }
    /// The open sessions of clients.
    package var sessions: [AudioSessionID: AudioSessions.Session] { clients.sessions.all }
    /// The number for the next session.
    package var nextSessionID: AudioSessionID { clients.sessions.nextID }
    /// Whether another session may be opened.
    package var hasRoom: Bool { clients.sessions.hasRoom }
    /// The calls whose audio is active: one, or those of a conference.
    package var activeCalls: [CallKey] { call.activeCalls }
    /// The output that the user has chosen.
    package var chosenOutput: String? { choices.chosen }
    /// The current route, as last reported.
    package var route: AudioRoute { engine.server.route }
    /// The wanted state of the server.
    package var plan: AudioPlan { scene.plan(for: clients.sessions) }
    /// The plan that is in force.
    package var planInForce: AudioPlan { engine.server.planInForce }

    /// The sessions that duck this one.
    package func duckers(of id: AudioSessionID) -> Set<AudioSessionID> { scene.duckers(of: id, in: clients.sessions) }

    /// Whether another active session that is not mixable plays. Less important audio should then be silent.
    package func secondaryAudioShouldBeSilenced(for id: AudioSessionID) -> Bool {
        clients.sessions.shouldBeSilent(id, scene)
    }

    /// Whether another session, or a program without a session, plays.
    package func isOtherAudioPlaying(for id: AudioSessionID) -> Bool {
        engine.server.othersPlay || engine.server.running.contains { $0 != id }
    }
}
