/// The unanswered requests of clients. One request at a time is in work. The server is asked for that change alone, so
/// that a refusal belongs to that request.
///
///     ask --the server has no part in it--> answered
///      |
///      +--> waiting --beginNext--> in work --conclude--> answered: the server is as it asks
///              |                     +------fail-------> answered: why not; all is as before
///              +------passDeadlines--+-----------------> answered: in time, whatever the server does
///
/// What holds: each accepted request is answered exactly once, in order per session; at most
/// ``AudioArbiter/maximumRequests`` of a session wait; no request of a session is due before the one before it.
struct AudioRequests: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case activate
        case deactivate(notifiesOthers: Bool)
        case configure(AudioSessionConfiguration)
    }

    private struct Request: Hashable, Sendable {
        let session: AudioSessionID
        let kind: Kind
        /// The latest time for the answer.
        let deadline: BootInstant
    }

    private struct Work: Hashable, Sendable {
        let request: Request
        /// Its session before the work began.
        let former: AudioSessions.Session
        /// The sessions that the request interrupted.
        let interrupted: [AudioSessionID]
    }

    /// The sessions of the requests.
    var sessions = AudioSessions()
    /// The oldest first.
    private var waiting: [Request] = []
    private var work: Work?

    var isWorking: Bool { work != nil }
    var nextDeadline: BootInstant? { ([work?.request.deadline].compactMap(\.self) + waiting.map(\.deadline)).min() }

    mutating func ask(_ id: AudioSessionID, _ kind: Kind, _ scene: AudioScene, _ turn: inout AudioTurn) {
        guard id >= .firstClient else {
            return turn.refuse(id, .missingEntitlement, "the session of calls is activated by the daemon alone")
        }
        guard sessions.isOpen(id, &turn) else { return }
        let before =
            [work?.request].compactMap(\.self).filter { $0.session == id } + waiting.filter { $0.session == id }
        if before.isEmpty, doAtOnce(id, kind, scene, &turn) { return }
        guard waiting.count(where: { $0.session == id }) < AudioArbiter.maximumRequests else {
            return turn.refuse(id, .resourceNotAvailable, "as many requests of the session wait as may")
        }
        let limit = scene.limit(from: turn.now)
        waiting.append(Request(session: id, kind: kind, deadline: max(limit, before.last?.deadline ?? limit)))
    }

    /// Does and answers a request that doesn't need the server; false if the request needs it.
    private mutating func doAtOnce(_ id: AudioSessionID, _ kind: Kind, _ scene: AudioScene, _ turn: inout AudioTurn)
        -> Bool
    {
        guard let session = sessions[id] else { return false }
        do throws(AudioSessionError) {
            switch (kind, session.machine.state) {
            case (.activate, .active), (.configure(session.configuration), _), (.deactivate, .inactive),
                (.deactivate, .lost):
                break
            case (.activate, let state):
                if let failure = scene.engine.failure { throw failure }
                guard state == .lost else { return false }
                throw AudioSessionStateMachine.serverGone
            case (.configure(let configuration), .inactive), (.configure(let configuration), .interrupted),
                (.configure(let configuration), .lost):
                sessions[id]?.configuration = configuration
            case (.deactivate(let notifies), .interrupted):
                _ = try sessions[id]?.machine.deactivate(isPlaying: scene.engine.server.running.contains(id))
                sessions.leave(id, from: session.machine.state, shouldResume: notifies)
            case (.configure, _), (.deactivate, _): return false
            }
            turn.answer(id, .success(scene.engine.server.route))
        } catch {
            turn.answer(id, .failure(error))
        }
        return true
    }

    // MARK: - Beginning a request

    /// Begins the oldest request that can begin. Until the engine has reported on the server, no activation can begin,
    /// and no later request of the same session.
    ///
    /// - Returns: whether there was one.
    mutating func beginNext(_ scene: AudioScene, _ turn: inout AudioTurn) -> Bool {
        var held: Set<AudioSessionID> = []
        let next = waiting.firstIndex { request in
            if request.kind == .activate, scene.engine.isComing { held.insert(request.session) }
            return !held.contains(request.session)
        }
        guard let next else { return false }
        begin(waiting.remove(at: next), scene, &turn)
        return true
    }

    private mutating func begin(_ request: Request, _ scene: AudioScene, _ turn: inout AudioTurn) {
        let id = request.session
        guard !doAtOnce(id, request.kind, scene, &turn), let session = sessions[id] else { return }
        var next = session.configuration
        if case .configure(let configuration) = request.kind { next = configuration }
        do throws(AudioSessionError) {
            switch request.kind {
            case .activate:
                if let refusal = scene.refusal(of: next, needsLease: true, hasLease: session.hasLease) {
                    if refusal.code == .insufficientPriority, let holder = scene.holder {
                        sessions.interruptAgain(id, by: holder.id, &turn)
                    }
                    throw refusal
                }
                let order = sessions.nextOrder()
                _ = try sessions[id]?.machine.activate(order: order)
            case .configure:
                let former = session.configuration
                if former.isMixable || former.category != next.category,
                    let refusal = scene.refusal(of: next, needsLease: former.isMixable, hasLease: session.hasLease)
                {
                    throw refusal
                }
                sessions[id]?.configuration = next
                if former.category != next.category { sessions[id]?.isSpeakerForced = false }
            case .deactivate(let notifies):
                _ = try sessions[id]?.machine.deactivate(isPlaying: false)
                if !notifies { sessions.resumesPlayers = false }
                work = Work(request: request, former: session, interrupted: [])
                return
            }
        } catch {
            return turn.answer(id, .failure(error))
        }
        let interrupted = sessions.interrupt(by: .session(id), &turn) { other, session in
            other != id && next.interrupts(session.configuration)
        }
        work = Work(request: request, former: session, interrupted: interrupted)
    }

    // MARK: - Finishing a request

    /// The server matches the request in work.
    ///
    /// - Parameter busy: sessions that became inactive while their streams ran.
    /// - Returns: the session to answer, with an error if its streams still run; nil if nothing is in work.
    mutating func conclude(busy: Set<AudioSessionID>) -> (session: AudioSessionID, error: AudioSessionError?)? {
        guard let work else { return nil }
        self.work = nil
        let id = work.request.session
        switch work.request.kind {
        case .activate: sessions[id]?.machine.activated()
        case .configure: break
        case .deactivate(let notifies):
            sessions[id]?.machine.deactivated(isBusy: busy.contains(id))
            sessions.release(.session(id), shouldResume: notifies)
            guard busy.contains(id) else { break }
            return (
                id,
                AudioSessionError(
                    .isBusy, "the session is inactive, and its streams, which still run, are silenced")
            )
        }
        return (id, nil)
    }

    /// The request in work failed: restores the previous state, and notifies the sessions that were interrupted for it.
    mutating func fail(_ error: AudioSessionError, _ scene: AudioScene, _ turn: inout AudioTurn) {
        guard let work else { return }
        self.work = nil
        let id = work.request.session
        switch work.request.kind {
        case .activate:
            sessions[id]?.machine.activationFailed()
            // The interrupter may have gone meanwhile. The client was not notified then, as its activation was in
            // progress.
            if let by = sessions[id]?.machine.state.interrupter, !sessions.isInForce(by, scene) {
                sessions.endInterruption(of: id, by: by, shouldResume: true, scene, &turn)
            }
        case .deactivate: sessions[id]?.machine.deactivationFailed()
        case .configure:
            sessions[id]?.configuration = work.former.configuration
            sessions[id]?.isSpeakerForced = work.former.isSpeakerForced
        }
        for other in work.interrupted {
            sessions.endInterruption(of: other, by: .session(id), shouldResume: true, scene, &turn)
        }
        turn.answer(id, .failure(error))
    }

    /// The server is gone: an activation in work fails, any other request counts as done.
    mutating func lose(_ error: AudioSessionError, _ scene: AudioScene, _ turn: inout AudioTurn) {
        guard work?.request.kind != .activate else { return fail(error, scene, &turn) }
        if let (id, _) = conclude(busy: []) { turn.answer(id, .success(AudioRoute())) }
    }

    /// The session is closed: fails its unanswered requests.
    mutating func close(_ id: AudioSessionID, _ turn: inout AudioTurn) {
        var open = waiting.count { $0.session == id }
        waiting.removeAll { $0.session == id }
        if work?.request.session == id {
            work = nil
            open += 1
        }
        for _ in 0..<open {
            turn.answer(id, .failure(AudioSessionError(.expiredSession, "the session was closed")))
        }
        sessions.close(id)
    }

    // MARK: - Time

    /// Answers overdue requests.
    mutating func passDeadlines(_ scene: AudioScene, _ turn: inout AudioTurn) {
        var due = waiting.filter { $0.deadline <= turn.now }
        waiting.removeAll { $0.deadline <= turn.now }
        if let request = work?.request, request.deadline <= turn.now {
            if case .deactivate = request.kind {
                work = nil
                due.insert(request, at: 0)
            } else {
                fail(scene.timedOut, scene, &turn)
            }
        }
        for request in due {
            if case .deactivate(let notifies) = request.kind {
                deactivateUnanswered(request.session, notifiesOthers: notifies, scene, &turn)
            } else {
                turn.answer(request.session, .failure(scene.timedOut))
            }
        }
    }

    /// Makes the session inactive without waiting for the server. Its effects on others are undone when the server
    /// answers.
    private mutating func deactivateUnanswered(
        _ id: AudioSessionID, notifiesOthers: Bool, _ scene: AudioScene, _ turn: inout AudioTurn
    ) {
        guard let state = sessions[id]?.machine.state else { return }
        let isPlaying = scene.engine.server.running.contains(id)
        do throws(AudioSessionError) {
            if state.name != .deactivating { _ = try sessions[id]?.machine.deactivate(isPlaying: isPlaying) }
        } catch {
            return turn.answer(id, .failure(error))
        }
        sessions[id]?.machine.deactivated(isBusy: isPlaying)
        if !notifiesOthers { sessions.resumesPlayers = false }
        sessions.leave(id, from: state, shouldResume: notifiesOthers)
        turn.effects.append(
            .problem("session \(id.number) is inactive, but the audio server has not answered in time"))
        turn.answer(id, .success(scene.engine.server.route))
    }
}
