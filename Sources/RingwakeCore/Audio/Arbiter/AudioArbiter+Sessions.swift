// Sessions come, go and change; none of this is answered.
extension AudioArbiter {
    mutating func open(_ id: AudioSessionID, _ client: AudioClient, hasLease: Bool, _ turn: inout Turn) {
        guard id.number > lastNumber, id.number < .max else {
            return refuse(id, .badParam, "a session with this number was opened before", &turn)
        }
        guard hasRoom else {
            return refuse(id, .resourceNotAvailable, "as many audio sessions are open as may be; close one", &turn)
        }
        lastNumber = id.number
        sessions[id] = Session(client: client, hasLease: hasLease, openedAt: turn.now)
        reviveEngine(&turn)
    }

    /// The client closed it or died. What it did to others is undone as with a deactivation that notifies them: the user
    /// has not chosen that they stay silent.
    mutating func close(_ id: AudioSessionID, _ turn: inout Turn) {
        guard let session = sessions.removeValue(forKey: id) else {
            return refuse(id, .expiredSession, "no such session is open", &turn)
        }
        let open = (progress.work.map { $0.request.session == id ? 1 : 0 } ?? 0) + requests.count { $0.session == id }
        if progress.work?.request.session == id { progress.work = nil }
        requests.removeAll { $0.session == id }
        for _ in 0..<open {
            answer(id, .failure(AudioSessionError(.expiredSession, "the session was closed")), &turn)
        }
        activity.running.remove(id)
        leave(id, whose: session.machine.state, shouldResume: true)
    }

    mutating func changeLease(_ id: AudioSessionID, _ hasLease: Bool, _ turn: inout Turn) {
        guard sessions[id] != nil else { return refuse(id, .expiredSession, "no such session is open", &turn) }
        sessions[id]?.hasLease = hasLease
    }

    /// The speaker, or not any more: until the route changes or the session does.
    mutating func overrideOutput(_ id: AudioSessionID, isSpeaker: Bool, _ turn: inout Turn) {
        if id == .call {
            guard call.state.isInPlan else { return refuse(id, .sessionNotActive, "no call is in focus", &turn) }
            guard call.isSpeakerForced != isSpeaker else { return }
            call.isSpeakerForced = isSpeaker
        } else {
            guard let session = sessions[id] else {
                return refuse(id, .expiredSession, "no such session is open", &turn)
            }
            guard session.machine.state.name == .active else {
                return refuse(id, .sessionNotActive, "the session is not active", &turn)
            }
            guard session.isSpeakerForced != isSpeaker else { return }
            sessions[id]?.isSpeakerForced = isSpeaker
        }
        progress.reason = .override
        // The last one counts, of the speaker and of the output that the user has chosen.
        if isSpeaker { overtakeChoices(&turn) }
    }

    mutating func dropOverrides() {
        call.isSpeakerForced = false
        for id in sessions.keys { sessions[id]?.isSpeakerForced = false }
    }

    func refuse(_ id: AudioSessionID, _ code: AudioSessionError.Code, _ message: String, _ turn: inout Turn) {
        turn.effects.append(.refused(id, AudioSessionError(code, message)))
    }

    func answer(_ id: AudioSessionID, _ result: Result<AudioRoute, AudioSessionError>, _ turn: inout Turn) {
        turn.effects.append(.answer(id, result))
    }

    // MARK: - Interruptions begin and end

    /// The session is interrupted, and its client told.
    ///
    /// - Returns: whether it was active.
    @discardableResult
    mutating func interrupt(
        _ id: AudioSessionID, by: AudioInterrupter?, _ reason: AudioInterruptionReason, _ turn: inout Turn
    ) -> Bool {
        guard sessions[id]?.machine.interrupt(by: by) == true else { return false }
        sessions[id]?.isToldToResume = false
        turn.effects.append(.notify(id, .interruptionBegan(reason)))
        return true
    }

    /// What `owner` did to the session is over, and its client is told; a call that goes on holds it back instead.
    mutating func endInterruption(
        of id: AudioSessionID, by owner: AudioInterrupter, shouldResume: Bool, _ turn: inout Turn
    ) {
        if let heir = uninterruptible, heir.interrupts {
            _ = sessions[id]?.machine.inherit(from: owner, to: .session(heir.id))
        } else if sessions[id]?.machine.endInterruption(by: owner) == true {
            sessions[id]?.isToldToResume = true
            turn.effects.append(.notify(id, .interruptionEnded(shouldResume: shouldResume)))
        }
    }

    /// A session is not in force any more, and will not be again by itself: those that it interrupted are told, as soon as
    /// the server is without it. Where it is itself interrupted by a session, that one holds them back from now on.
    mutating func leave(_ id: AudioSessionID, whose state: AudioSessionStateMachine.State, shouldResume: Bool) {
        if case .interrupted(by: .session(let heir)?) = state {
            for other in sessions.keys where other != heir {
                _ = sessions[other]?.machine.inherit(from: .session(id), to: .session(heir))
            }
            return
        }
        release(.session(id), shouldResume: shouldResume)
    }

    /// Notes that whom `owner` interrupted is to be told of the end.
    mutating func release(_ owner: AudioInterrupter, shouldResume: Bool) {
        guard sessions.values.contains(where: { $0.machine.state.interrupter == owner }) else { return }
        progress.releases.removeAll { $0.owner == owner }
        progress.releases.append(Progress.Release(owner: owner, shouldResume: shouldResume))
    }

    /// Tells those that were interrupted by who has left, when the server is without it.
    ///
    /// - Parameter isFinal: the server will not be without it in any other way.
    mutating func tellReleased(isFinal: Bool, _ turn: inout Turn) {
        let releases = progress.releases
        progress.releases = []
        for release in releases where !hasReturned(release.owner) {
            if !isFinal, case .session(let owner) = release.owner, progress.holds(owner) {
                progress.releases.append(release)
                continue
            }
            for id in sessions.keys.sorted() {
                endInterruption(of: id, by: release.owner, shouldResume: release.shouldResume, &turn)
            }
        }
    }

    /// Whether a release is without object: a call or ringing left and came again before the server had answered.
    private func hasReturned(_ owner: AudioInterrupter) -> Bool {
        switch owner {
        case .session(.call), .session(.ringing), .microphone: isInForce(owner)
        case .session: false
        }
    }

    /// Whether who interrupted a session still holds it back.
    func isInForce(_ interrupter: AudioInterrupter) -> Bool {
        switch interrupter {
        case .session(.call): call.state.isInPlan
        case .session(.ringing): ringing != nil
        case .session(let id):
            switch sessions[id]?.machine.state.name {
            case .activating, .active, .interrupted, .deactivating: true
            case .inactive, .lost, nil: false
            }
        case .microphone: activity.isMicrophoneMuted
        }
    }
}
