// How a plan comes into force, and what is told then.
extension AudioArbiter {
    /// What has been asked of the engine and what came of it: gone with the connection to the server.
    struct Progress: Hashable, Sendable {
        /// A plan that the engine has not answered for.
        struct Outstanding: Hashable, Sendable {
            let number: UInt64
            let plan: AudioPlan
            /// Why the route changes if it does by this.
            let reason: AudioRouteChangeReason
            /// When the engine is taken to hang.
            let deadline: BootInstant
        }

        /// The request of a client that is being done.
        struct Work: Hashable, Sendable {
            let request: Request
            /// What its session was before.
            let former: AudioSessionConfiguration
            let wasSpeakerForced: Bool
            /// Whom it interrupted.
            var interrupted: [AudioSessionID] = []
        }

        /// Who interrupted others and has left: these are told when the server is without it.
        struct Release: Hashable, Sendable {
            let owner: AudioInterrupter
            let shouldResume: Bool
        }

        var planInForce = AudioPlan()
        var outstanding: Outstanding?
        var work: Work?
        /// The plan that the engine refused last, with no request to blame: not asked for again as it is.
        var refused: AudioPlan?
        /// Whether all who leave with the next plan leave others in good order.
        var resumes = true
        /// Why the route changes if it does by the next plan.
        var reason = AudioRouteChangeReason.categoryChange
        var releases: [Release] = []
        /// What the engine was told that a call would need.
        var prepared: AudioPlan?

        /// Whether the session is in the plan in force.
        func holds(_ id: AudioSessionID) -> Bool { planInForce.sessions.contains { $0.id == id } }
    }

    /// The plan that the server was made after.
    package var planInForce: AudioPlan { progress.planInForce }

    /// Whether a plan comes into force when it is asked for.
    var isReady: Bool { engine.isConnected || !settings.hasEngine }

    /// Goes on as far as it can be gone on without an answer: one plan, one request at a time.
    mutating func proceed(_ turn: inout Turn) {
        followRinging()
        while progress.outstanding == nil {
            if isReady {
                enforcePriorities(&turn)
                let plan = plan
                let isRefused = progress.work == nil && plan == progress.refused
                if settings.hasEngine, plan != progress.planInForce, !isRefused { return send(plan, &turn) }
                if !settings.hasEngine { progress.planInForce = plan }
            }
            settle(&turn)
            guard beginNext(&turn) else { return }
        }
    }

    private mutating func send(_ plan: AudioPlan, _ turn: inout Turn) {
        lastApply &+= 1
        turn.effects.append(.send(.apply(number: lastApply, plan, resumes: progress.resumes)))
        progress.outstanding = Progress.Outstanding(
            number: lastApply, plan: plan, reason: progress.reason,
            deadline: turn.now.advanced(by: AudioArbiter.engineTime))
        progress.resumes = true
        progress.reason = .categoryChange
    }

    // MARK: - The engine's answer

    mutating func planApplied(_ number: UInt64, _ applied: AudioApplied, _ turn: inout Turn) {
        guard let outstanding = progress.outstanding, outstanding.number == number else {
            return turn.effects.append(.problem("the audio program answers for a plan that it was not asked for"))
        }
        progress.outstanding = nil
        progress.refused = nil
        progress.planInForce = outstanding.plan
        if applied.busy.contains(.call), case .deactivating(let focus, _) = call.state { call.silenced = focus.client }
        conclude(busy: applied.busy, applied.route, outstanding.reason, &turn)
        // These are silent already.
        let plan = plan
        for id in applied.busy { progress.planInForce.silenced[id] = plan.silenced[id] }
    }

    mutating func planRefused(_ number: UInt64, _ error: AudioSessionError, _ turn: inout Turn) {
        guard let outstanding = progress.outstanding, outstanding.number == number else {
            return turn.effects.append(.problem("the audio program refuses a plan that it was not asked for"))
        }
        progress.outstanding = nil
        if progress.work != nil {
            failWork(error, &turn)
        } else if case .activating(let focus, _) = call.state, outstanding.plan.sessions.first == callToPlan {
            failCall(focus, error, &turn)
        } else {
            progress.refused = outstanding.plan
            turn.effects.append(.problem("the audio server cannot be made as it should be: \(error)"))
        }
    }

    // MARK: - What is told

    /// A plan has come into force: who asked for it is answered, when the route has been told.
    private mutating func conclude(
        busy: Set<AudioSessionID>, _ route: AudioRoute, _ reason: AudioRouteChangeReason, _ turn: inout Turn
    ) {
        let result = concludeWork(busy: busy)
        moveRoute(to: route, reason, &turn)
        if let work = progress.work, let result {
            progress.work = nil
            answer(work.request.session, result.map { route }, &turn)
        }
        settleCall(isFinal: false, &turn)
        tellReleased(isFinal: false, &turn)
    }

    /// The server is as it is to be, or can be made no other: what waited for this is told.
    private mutating func settle(_ turn: inout Turn) {
        if let work = progress.work, let result = concludeWork(busy: []) {
            progress.work = nil
            let route = route
            answer(work.request.session, result.map { route }, &turn)
        }
        settleCall(isFinal: true, &turn)
        tellReleased(isFinal: true, &turn)
    }

    /// The route that counts is another: who plays or records is told.
    mutating func moveRoute(to new: AudioRoute, _ reason: AudioRouteChangeReason, _ turn: inout Turn) {
        let previous = route
        guard new != previous else { return }
        route = new
        if case .active(let focus) = call.state {
            turn.effects.append(.callRouteChanged(focus.call, reason, previous: previous, current: new))
        }
        for id in sessions.keys.sorted() where sessions[id]?.machine.state.name == .active {
            turn.effects.append(.notify(id, .routeChanged(reason, previous: previous, current: new)))
        }
    }
}
