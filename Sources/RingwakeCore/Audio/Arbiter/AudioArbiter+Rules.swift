// Who may become active beside whom: the priorities, and the matrix of a second session.
//
// call (3) > recordings and playback that is not mixable (1) > mixable (0). Level 2 is free.
extension AudioArbiter {
    /// What no session of a client interrupts: the call, or ringing that interrupts others.
    struct Uninterruptible: Hashable, Sendable {
        let id: AudioSessionID
        let others: AudioPlan.Others

        /// Whether sessions that were active before it are interrupted by it, rather than ducked or left alone.
        var interrupts: Bool { others == .interrupt }
    }

    var uninterruptible: Uninterruptible? {
        if call.state.isInPlan { return Uninterruptible(id: .call, others: settings.others) }
        guard ringing != nil, settings.othersWhileRinging == .interrupt else { return nil }
        return Uninterruptible(id: .ringing, others: .interrupt)
    }

    /// Why a session may not be what `configuration` says; nil: it may.
    ///
    /// What is mixable always may. Beside a call only playback may too, which the call ducks and gives no microphone.
    func refusal(
        of configuration: AudioSessionConfiguration, needsLease: Bool, hasLease: Bool
    ) -> AudioSessionError? {
        guard !configuration.isMixable else { return nil }
        if let holder = uninterruptible, configuration.category != .playback {
            let what = holder.id == .call ? "a call is active" : "a call rings"
            return AudioSessionError(
                .insufficientPriority, "\(what); activate again when it has ended, or with the option mixWithOthers")
        }
        guard hasLease || !needsLease else {
            return AudioSessionError(
                .cannotInterruptOthers,
                "the session is not in the foreground and is not mixable; give it the option mixWithOthers")
        }
        return nil
    }

    /// Interrupts those that give way to a session of this configuration.
    ///
    /// - Returns: who was active and is interrupted now.
    mutating func makeRoom(
        for id: AudioSessionID, _ configuration: AudioSessionConfiguration, _ turn: inout Turn
    ) -> [AudioSessionID] {
        var interrupted: [AudioSessionID] = []
        for other in sessions.keys.sorted() where other != id {
            guard let session = sessions[other], configuration.interrupts(session.configuration) else { continue }
            if interrupt(other, by: .session(id), .default, &turn) { interrupted.append(other) }
        }
        return interrupted
    }

    /// The call, or ringing, interrupts those that were active before it, if the user's settings say so.
    mutating func enforcePriorities(_ turn: inout Turn) {
        if call.state.isInPlan {
            let order = call.order ?? nextOrder()
            call.order = order
            if settings.others == .interrupt { interruptAll(before: order, by: .call, &turn) }
        }
        if let order = ringing, settings.othersWhileRinging == .interrupt {
            interruptAll(before: order, by: .ringing, &turn)
        }
    }

    private mutating func interruptAll(before order: UInt64, by id: AudioSessionID, _ turn: inout Turn) {
        for other in sessions.keys.sorted() {
            guard let own = sessions[other]?.machine.state.order, own < order else { continue }
            interrupt(other, by: .session(id), .default, &turn)
        }
    }

    /// The sessions that have this one play more quietly.
    package func duckers(of id: AudioSessionID) -> Set<AudioSessionID> {
        guard let session = sessions[id], let order = session.machine.state.order else { return [] }
        var duckers: Set<AudioSessionID> = []
        if call.state.isInPlan, settings.others != .leave { duckers.insert(.call) }
        if ringing != nil, settings.othersWhileRinging != .leave { duckers.insert(.ringing) }
        let ducksItself = session.configuration.ducksOthers
        for (other, ducker) in sessions where other != id && ducker.configuration.ducksOthers {
            guard let later = ducker.machine.state.order, !ducksItself || later > order else { continue }
            duckers.insert(other)
        }
        return duckers
    }

    /// Whether the session may take the microphone now: beside a call only if it had it before.
    func mayRecord(_ session: Session) -> Bool {
        guard session.configuration.category.hasInput, let order = session.machine.state.order else { return false }
        guard call.state.isInPlan, let callOrder = call.order else { return true }
        return order < callOrder
    }
}

extension AudioSessionConfiguration {
    var ducksOthers: Bool { effectiveOptions.contains(.duckOthers) }

    /// Whether a session of this configuration, on becoming active, interrupts one of the other.
    func interrupts(_ other: AudioSessionConfiguration) -> Bool {
        if !isMixable { return !other.isMixable }
        return effectiveOptions.contains(.interruptSpokenAudioAndMixWithOthers) && other.mode == .spokenAudio
    }

    /// What a session of it does to the sound of those who cannot be told.
    var others: AudioPlan.Others {
        if !isMixable { return .interrupt }
        return ducksOthers ? .duck : .leave
    }

    /// Which of two sessions' routes counts: those that record, and those that are heard alone, before the others.
    var priority: Int { category.hasInput || !isMixable ? 1 : 0 }
}
