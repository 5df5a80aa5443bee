// The holder of the connection to the audio server: there while it is needed, and told apart from the server itself.
extension AudioArbiter {
    package struct Engine: Hashable, Sendable {
        package enum State: Hashable, Sendable {
            /// Nobody needs it.
            case absent
            /// It was started, and has not told of the server yet.
            case starting
            case connected(AudioServerDescription)
            /// It is there, but no server: why.
            case unavailable(String)
            /// The server is gone; it is connected to again as soon as it is back.
            case lost(String)
            /// It could not be started, or ended too often: why. Started again when something new needs it.
            case failed(String)
        }

        package internal(set) var state = State.absent
        /// Nobody needs it any more: it goes then.
        var lingersUntil: BootInstant?
        /// When it ended by itself, the last times.
        var endings: [BootInstant] = []

        package var isConnected: Bool {
            if case .connected = state { true } else { false }
        }

        /// Whether the server will be told of without anything further.
        var isComing: Bool {
            switch state {
            case .absent, .starting: true
            case .connected, .unavailable, .lost, .failed: false
            }
        }

        /// Why nothing can be activated; nil: it can, or soon can.
        var failure: AudioSessionError? {
            switch state {
            case .absent, .starting, .connected: nil
            case .unavailable(let why): AudioSessionError(.mediaServicesFailed, "no audio server: \(why)")
            case .lost(let why): AudioSessionError(.mediaServicesFailed, "the audio server is gone: \(why)")
            case .failed(let why): AudioSessionError(.mediaServicesFailed, "no way to the audio server: \(why)")
            }
        }
    }

    private var isEngineNeeded: Bool {
        guard settings.hasEngine else { return false }
        let isAwaited = choices.contains { $0.deadline != nil }
        return isAwaited || !sessions.isEmpty || needs.isAnyCall || needs.isRinging || needs.focus != nil
            || call.state != .idle
    }

    /// Starts it when it is needed, gets it ready for a call, and ends it when nobody has needed it for a while.
    mutating func tendEngine(_ turn: inout Turn) {
        guard isEngineNeeded else { return letEngineGo(&turn) }
        engine.lingersUntil = nil
        if engine.state == .absent { startEngine(&turn) }
        guard engine.isConnected, progress.outstanding == nil else { return }
        guard needs.isAnyCall, needs.focus == nil, !call.state.isInPlan else {
            progress.prepared = nil
            return
        }
        let expected = expectedPlan
        guard expected != progress.prepared else { return }
        progress.prepared = expected
        turn.effects.append(.send(.prepare(expected)))
    }

    private mutating func letEngineGo(_ turn: inout Turn) {
        switch engine.state {
        case .absent: break
        case .failed: engine.state = .absent
        case .starting, .connected, .unavailable, .lost:
            guard engine.lingersUntil == nil else { return }
            engine.lingersUntil = turn.now.advanced(by: max(settings.linger, .zero))
        }
    }

    private mutating func startEngine(_ turn: inout Turn) {
        engine.state = .starting
        turn.effects.append(.startEngine)
    }

    private mutating func stopEngine(_ turn: inout Turn) {
        turn.effects.append(.stopEngine)
        forgetServer()
        engine.state = .absent
        engine.lingersUntil = nil
    }

    /// What was asked of the server and told of it is of no meaning any more.
    private mutating func forgetServer() {
        progress = Progress()
        activity = Activity()
        route = AudioRoute()
        forgetChoicesSent()
    }

    /// Something needs it anew: where it was given up it may be started again, if it has not ended too often just now.
    mutating func reviveEngine(_ turn: inout Turn) {
        guard settings.hasEngine, case .failed = engine.state, mayStart(at: turn.now) else { return }
        startEngine(&turn)
    }

    private mutating func mayStart(at now: BootInstant) -> Bool {
        engine.endings.removeAll { $0.duration(to: now) >= AudioArbiter.restartWindow }
        return engine.endings.count <= AudioArbiter.maximumRestarts
    }

    /// It ended, could not be started, or hangs.
    mutating func engineGone(_ why: String, _ turn: inout Turn) {
        guard engine.state != .absent else { return }
        if case .failed = engine.state { return }
        engine.endings.append(turn.now)
        engine.lingersUntil = nil
        let wasConnected = engine.isConnected
        let mayStart = mayStart(at: turn.now)
        guard isEngineNeeded else {
            forgetServer()
            engine.state = .absent
            return
        }
        engine.state = mayStart ? .starting : .failed(why)
        if wasConnected || !mayStart { loseServer(why, wasThere: wasConnected, &turn) }
        if mayStart {
            turn.effects.append(.startEngine)
        } else {
            turn.effects.append(.problem("the audio program is not started any more: \(why)"))
        }
    }

    mutating func passDeadlinesOfEngine(_ turn: inout Turn) {
        if let until = engine.lingersUntil, until <= turn.now { stopEngine(&turn) }
        if let outstanding = progress.outstanding, outstanding.deadline <= turn.now {
            turn.effects.append(.stopEngine)
            engineGone("it has not answered for \(AudioArbiter.engineTime.milliseconds) ms", &turn)
        }
    }

    mutating func change(to new: CallAudioSettings, _ turn: inout Turn) {
        let hadEngine = settings.hasEngine
        settings = new
        guard hadEngine != new.hasEngine else {
            // Who loads the configuration again may have seen to what was wrong.
            engine.endings = []
            return reviveEngine(&turn)
        }
        if new.hasEngine {
            // Sessions that are active stay so, and come into force with the server.
            progress.planInForce = AudioPlan()
        } else {
            goOnWithoutEngine(&turn)
        }
    }

    /// From now on nothing is waited for: what was asked for is so.
    private mutating func goOnWithoutEngine(_ turn: inout Turn) {
        let former = progress
        if engine.state != .absent { stopEngine(&turn) }
        progress.work = former.work
        progress.releases = former.releases
        for id in sessions.keys.sorted() where sessions[id]?.machine.reset() == true {
            turn.effects.append(.notify(id, .mediaServicesWereReset))
        }
        retryCall(&turn)
    }

    // MARK: - What it reports

    mutating func hear(_ report: AudioEngineReport, _ turn: inout Turn) {
        switch engine.state {
        case .absent, .failed: return
        case .starting, .connected, .unavailable, .lost: break
        }
        switch report {
        case .ready: break
        case .connected(let server, let route): connected(server, route, &turn)
        case .unavailable(let why):
            let wasThere = engine.isConnected
            engine.state = .unavailable(why)
            loseServer(why, wasThere: wasThere, &turn)
        case .lost(let why):
            let wasThere = engine.isConnected
            engine.state = .lost(why)
            loseServer(why, wasThere: wasThere, &turn)
        case .problem(let what): turn.effects.append(.problem(what))
        case .applied, .refused, .outputChosen, .routeChanged, .routeDisconnected, .microphoneMuted, .activity:
            if engine.isConnected { hearOfServer(report, &turn) }
        }
    }

    private mutating func hearOfServer(_ report: AudioEngineReport, _ turn: inout Turn) {
        switch report {
        case .applied(let number, let applied): planApplied(number, applied, &turn)
        case .refused(let number, let error): planRefused(number, error, &turn)
        case .outputChosen(let number, let isKnown): choiceAnswered(number, isKnown: isKnown, &turn)
        case .routeChanged(let reason, _, let current): routeMoved(to: current, reason, &turn)
        case .routeDisconnected: routeDisconnected(&turn)
        case .microphoneMuted(let isMuted): microphoneMuted(isMuted, &turn)
        case .activity(let running, let othersPlay):
            activity.running = running
            activity.othersPlay = othersPlay
        case .ready, .connected, .unavailable, .lost, .problem: break
        }
    }

    private mutating func connected(_ server: AudioServerDescription, _ route: AudioRoute, _ turn: inout Turn) {
        // Nothing of what was in force is so on a server that has just been connected to.
        if engine.isConnected { loseServer("it was connected to anew", wasThere: true, &turn) }
        engine.state = .connected(server)
        self.route = route
        for id in sessions.keys.sorted() where sessions[id]?.machine.reset() == true {
            turn.effects.append(.notify(id, .mediaServicesWereReset))
        }
        if let chosenOutput { turn.effects.append(.send(.chooseOutput(chosenOutput))) }
        retryCall(&turn)
    }

    /// The server is not there: sessions that had anything of it are told, and the calls.
    private mutating func loseServer(_ why: String, wasThere: Bool, _ turn: inout Turn) {
        let error = AudioSessionError(.mediaServicesFailed, "the audio server is gone: \(why)")
        failOpenRequests(error, &turn)
        for id in sessions.keys.sorted() where wasThere || sessions[id]?.machine.state.name != .inactive {
            guard sessions[id]?.machine.lose() == true else { continue }
            turn.effects.append(.notify(id, .mediaServicesWereLost))
        }
        loseCall(engine.failure ?? error, &turn)
        forgetServer()
    }

    /// The request in work fails if it is an activation; all others are as good as done. What waits is looked at anew.
    private mutating func failOpenRequests(_ error: AudioSessionError, _ turn: inout Turn) {
        guard let work = progress.work else { return }
        guard case .activate = work.request.kind else {
            _ = concludeWork(busy: [])
            progress.work = nil
            return answer(work.request.session, .success(AudioRoute()), &turn)
        }
        failWork(error, &turn)
    }

    // MARK: - Devices

    private mutating func routeMoved(to new: AudioRoute, _ reason: AudioRouteChangeReason, _ turn: inout Turn) {
        dropOverrides()
        moveRoute(to: new, reason, &turn)
        progress.refused = nil
        retryCall(&turn)
    }

    /// The device that sound went to is gone: it is not to come out of another one by itself, but of a call's.
    private mutating func routeDisconnected(_ turn: inout Turn) {
        for id in sessions.keys.sorted() where sessions[id]?.configuration.category.hasInput == false {
            if interrupt(id, by: nil, .routeDisconnected, &turn) { progress.resumes = false }
        }
    }

    private mutating func microphoneMuted(_ isMuted: Bool, _ turn: inout Turn) {
        guard activity.isMicrophoneMuted != isMuted else { return }
        activity.isMicrophoneMuted = isMuted
        guard isMuted else { return release(.microphone, shouldResume: true) }
        let isBuiltIn = route.inputs.isEmpty || route.inputs.contains { $0.kind == .builtInMicrophone }
        for id in sessions.keys.sorted() where isBuiltIn && sessions[id]?.isStoppedByMutedMicrophone == true {
            if interrupt(id, by: .microphone, .builtInMicMuted, &turn) { progress.resumes = false }
        }
    }
}

extension AudioArbiter.Session {
    fileprivate var isStoppedByMutedMicrophone: Bool {
        configuration.category.hasInput
            && !configuration.effectiveOptions.contains(.overrideMutedMicrophoneInterruption)
    }
}
