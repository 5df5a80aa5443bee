// What clients ask for: one request at a time is in work, and the server is asked for that one alone, so that a refusal
// is its own.
extension AudioArbiter {
    /// Something that a client asked for, to be answered exactly once.
    struct Request: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case activate
            case deactivate(notifiesOthers: Bool)
            case configure(AudioSessionConfiguration)
        }

        let session: AudioSessionID
        let kind: Kind
        /// When it is answered at the latest. No request of a session has an earlier one than the one before it.
        let deadline: BootInstant
    }

    mutating func ask(_ id: AudioSessionID, _ kind: Request.Kind, _ turn: inout Turn) {
        guard id >= .firstClient else {
            return refuse(id, .missingEntitlement, "the session of calls is activated by the daemon alone", &turn)
        }
        guard sessions[id] != nil else { return refuse(id, .expiredSession, "no such session is open", &turn) }
        let inWork = progress.work?.request.session == id ? progress.work?.request : nil
        let waiting = requests.filter { $0.session == id }
        if kind == .activate { reviveEngine(&turn) }
        if inWork == nil, waiting.isEmpty, doAtOnce(id, kind, &turn) { return }
        guard waiting.count < AudioArbiter.maximumRequests else {
            return refuse(id, .resourceNotAvailable, "as many requests of the session wait as may", &turn)
        }
        let earliest = [turn.now.advanced(by: max(settings.activationTime, .zero)), inWork?.deadline]
        let deadline = (earliest + [waiting.last?.deadline]).compactMap(\.self).max() ?? turn.now
        requests.append(Request(session: id, kind: kind, deadline: deadline))
    }

    /// Does and answers what the server has no part in.
    private mutating func doAtOnce(_ id: AudioSessionID, _ kind: Request.Kind, _ turn: inout Turn) -> Bool {
        guard let session = sessions[id] else { return false }
        switch (kind, session.machine.state) {
        case (.activate, .active): break
        case (.activate, .lost):
            return fail(id, engine.failure ?? AudioArbiter.serverGone, &turn)
        case (.activate, _):
            guard let failure = engine.failure, settings.hasEngine else { return false }
            return fail(id, failure, &turn)
        case (.configure(session.configuration), _): break
        case (.configure(let configuration), .inactive), (.configure(let configuration), .interrupted),
            (.configure(let configuration), .lost):
            sessions[id]?.configuration = configuration
        case (.configure, _): return false
        case (.deactivate, .inactive), (.deactivate, .lost): break
        case (.deactivate(let notifies), .interrupted):
            do throws(AudioSessionError) {
                _ = try sessions[id]?.machine.deactivate(isPlaying: activity.running.contains(id))
            } catch {
                return fail(id, error, &turn)
            }
            leave(id, whose: session.machine.state, shouldResume: notifies)
        case (.deactivate, _): return false
        }
        answer(id, .success(route), &turn)
        return true
    }

    private func fail(_ id: AudioSessionID, _ error: AudioSessionError, _ turn: inout Turn) -> Bool {
        answer(id, .failure(error), &turn)
        return true
    }

    static let serverGone = AudioSessionError(
        .mediaServicesFailed, "the audio server is gone; activate again once it is back")

    // MARK: - Into work

    /// Begins with the oldest request that can be begun.
    ///
    /// - Returns: whether there was one.
    mutating func beginNext(_ turn: inout Turn) -> Bool {
        var held: Set<AudioSessionID> = []
        let mustWait = settings.hasEngine && engine.isComing
        let next = requests.firstIndex { request in
            if request.kind == .activate, mustWait { held.insert(request.session) }
            return !held.contains(request.session)
        }
        guard let next else { return false }
        let request = requests.remove(at: next)
        begin(request, &turn)
        return true
    }

    private mutating func begin(_ request: Request, _ turn: inout Turn) {
        let id = request.session
        guard !doAtOnce(id, request.kind, &turn), let session = sessions[id] else { return }
        var work = Progress.Work(
            request: request, former: session.configuration, wasSpeakerForced: session.isSpeakerForced)
        do throws(AudioSessionError) {
            switch request.kind {
            case .activate:
                let refusal = refusal(of: session.configuration, needsLease: true, hasLease: session.hasLease)
                if let refusal {
                    // It came too late after an interruption, and is told of the next one, and of its end.
                    if refusal.code == .insufficientPriority, session.isToldToResume, let holder = uninterruptible,
                        sessions[id]?.machine.inherit(from: nil, to: .session(holder.id)) == true
                    {
                        sessions[id]?.isToldToResume = false
                        turn.effects.append(.notify(id, .interruptionBegan(.default)))
                    }
                    throw refusal
                }
                let order = nextOrder()
                _ = try sessions[id]?.machine.activate(order: order)
                work.interrupted = makeRoom(for: id, session.configuration, &turn)
            case .deactivate(let notifies):
                _ = try sessions[id]?.machine.deactivate(isPlaying: activity.running.contains(id))
                if !notifies { progress.resumes = false }
            case .configure(let configuration):
                work.interrupted = try reconfigure(id, session, configuration, &turn)
            }
            progress.work = work
        } catch {
            answer(id, .failure(error), &turn)
        }
    }

    /// An active session becomes another one, and stays active.
    ///
    /// - Returns: whom that interrupts.
    private mutating func reconfigure(
        _ id: AudioSessionID, _ session: Session, _ configuration: AudioSessionConfiguration, _ turn: inout Turn
    ) throws(AudioSessionError) -> [AudioSessionID] {
        let former = session.configuration
        if former.isMixable || former.category != configuration.category {
            let refusal = refusal(of: configuration, needsLease: former.isMixable, hasLease: session.hasLease)
            if let refusal { throw refusal }
        }
        sessions[id]?.configuration = configuration
        if former.category != configuration.category { sessions[id]?.isSpeakerForced = false }
        return makeRoom(for: id, configuration, &turn)
    }

    // MARK: - Out of work

    /// The server is as the request in work asks: its session is what its client asked for.
    ///
    /// - Returns: the answer, to be given when the route has been told.
    mutating func concludeWork(busy: Set<AudioSessionID>) -> Result<Void, AudioSessionError>? {
        guard let work = progress.work else { return nil }
        let id = work.request.session
        switch work.request.kind {
        case .activate: _ = sessions[id]?.machine.activated()
        case .configure: break
        case .deactivate(let notifies):
            _ = sessions[id]?.machine.deactivated(isBusy: busy.contains(id))
            release(.session(id), shouldResume: notifies)
            guard !busy.contains(id) else {
                return .failure(
                    AudioSessionError(
                        .isBusy, "the session is inactive, and its streams, which still run, are silenced"))
            }
        }
        return .success(())
    }

    /// The request in work cannot be done: all is as before, but those that were interrupted for it are told of the end.
    mutating func failWork(_ error: AudioSessionError, _ turn: inout Turn) {
        guard let work = progress.work else { return }
        progress.work = nil
        let id = work.request.session
        switch work.request.kind {
        case .activate: undoActivation(of: id, &turn)
        case .deactivate: _ = sessions[id]?.machine.deactivationFailed()
        case .configure:
            sessions[id]?.configuration = work.former
            sessions[id]?.isSpeakerForced = work.wasSpeakerForced
        }
        for other in work.interrupted { endInterruption(of: other, by: .session(id), shouldResume: true, &turn) }
        answer(id, .failure(error), &turn)
    }

    private mutating func undoActivation(of id: AudioSessionID, _ turn: inout Turn) {
        guard sessions[id]?.machine.activationFailed() == true else { return }
        // Who had interrupted it may have gone meanwhile, and it was not told, as it seemed to go on.
        guard let by = sessions[id]?.machine.state.interrupter, !isInForce(by) else { return }
        endInterruption(of: id, by: by, shouldResume: true, &turn)
    }

    /// Answers what has not been done in time.
    mutating func passDeadlinesOfRequests(_ turn: inout Turn) {
        if let work = progress.work, work.request.deadline <= turn.now { expireWork(work, &turn) }
        let due = requests.filter { $0.deadline <= turn.now }
        requests.removeAll { $0.deadline <= turn.now }
        for request in due {
            if case .deactivate = request.kind {
                deactivateUnanswered(request, &turn)
            } else {
                answer(request.session, .failure(timedOut), &turn)
            }
        }
    }

    private mutating func expireWork(_ work: Progress.Work, _ turn: inout Turn) {
        guard case .deactivate = work.request.kind else { return failWork(timedOut, &turn) }
        progress.work = nil
        deactivateUnanswered(work.request, &turn)
    }

    /// What the client wants is so: it is inactive. What remains to be undone is undone when the server answers.
    private mutating func deactivateUnanswered(_ request: Request, _ turn: inout Turn) {
        guard case .deactivate(let notifies) = request.kind, let session = sessions[request.session] else { return }
        let id = request.session
        let isPlaying = activity.running.contains(id)
        if session.machine.state.name != .deactivating {
            do throws(AudioSessionError) {
                _ = try sessions[id]?.machine.deactivate(isPlaying: isPlaying)
            } catch {
                return answer(id, .failure(error), &turn)
            }
        }
        _ = sessions[id]?.machine.deactivated(isBusy: isPlaying)
        if !notifies { progress.resumes = false }
        leave(id, whose: session.machine.state, shouldResume: notifies)
        turn.effects.append(
            .problem("session \(id.number) is inactive, but the audio server has not answered in time"))
        answer(id, .success(route), &turn)
    }

    var timedOut: AudioSessionError {
        AudioSessionError(
            .mediaServicesFailed,
            "the audio server has not answered within \(settings.activationTime.milliseconds) ms; try again")
    }
}
