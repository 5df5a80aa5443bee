/// What stands beside the clients' sessions at one moment, and the rules that follow: who may become active, who is
/// interrupted, who is ducked, and what the server is to be.
///
/// Priorities: call (3) > recordings and playback that is not mixable (1) > mixable (0). Level 2 is free.
///
/// | A is active and B asks: | B mixable | B ducks others | B interrupts speech | B not mixable |
/// |---|---|---|---|---|
/// | A mixable | both | A ducked | both; speech is interrupted | both |
/// | A not mixable | both | A ducked | both; speech is interrupted | A interrupted |
/// | A is the call, or rings and interrupts | both, B ducked by it | both, B ducked | both, B ducked | playback as if mixable, no microphone; else B refused |
/// | B is the call, or rings | as the user's settings say: A interrupted, ducked or left alone ||||
///
/// - A session that is not mixable needs a lease (it stands in the foreground), or it is refused.
/// - A session that ducks others does not duck one that became active later and ducks others itself.
/// - Beside a call only who had the microphone before keeps it.
struct AudioScene: Hashable, Sendable {
    /// A session of the daemon itself.
    struct Own {
        let id: AudioSessionID
        /// What it does to others.
        let others: AudioPlan.Others
        let order: UInt64
    }

    var settings: CallAudioSettings
    /// What the calls need, as it was reported last.
    var needs = CallAudioNeeds.none
    var call = CallSession()
    /// Since which session ringing does something to others; nil while it does not.
    var ringing: UInt64?
    var engine: AudioEngineView

    init(settings: CallAudioSettings) {
        self.settings = settings
        engine = AudioEngineView(isUsed: settings.hasEngine)
    }

    /// The session of the call that is wanted of the server.
    var plannedCall: AudioPlan.Session? { call.planned(others: settings.others) }

    /// The daemon's sessions, the stronger first.
    var own: [Own] {
        let call = call.order.map { Own(id: .call, others: settings.others, order: $0) }
        let ringing = ringing.map { Own(id: .ringing, others: settings.othersWhileRinging, order: $0) }
        return [call, ringing].compactMap(\.self)
    }

    /// What no session of a client interrupts: the call, or ringing that interrupts others.
    var holder: Own? { own.first { $0.id == .call || $0.others == .interrupt } }

    /// Whether an interrupter that is no client's session is there.
    func contains(_ interrupter: AudioInterrupter) -> Bool {
        switch interrupter {
        case .session(let id): own.contains { $0.id == id }
        case .microphone: engine.server.isMicrophoneMuted
        }
    }

    /// What an activation fails with that takes too long.
    var timedOut: AudioSessionError {
        AudioSessionError(
            .mediaServicesFailed,
            "the audio server has not answered within \(settings.activationTime.milliseconds) ms; try again")
    }

    /// Until when an activation or a deactivation that begins now is to be done.
    func limit(from now: BootInstant) -> BootInstant { now.advanced(by: max(settings.activationTime, .zero)) }

    // MARK: - The rules

    /// Why a session may not be what `configuration` says; nil: it may.
    func refusal(
        of configuration: AudioSessionConfiguration, needsLease: Bool, hasLease: Bool
    ) -> AudioSessionError? {
        guard !configuration.isMixable else { return nil }
        if let holder, configuration.category != .playback {
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

    /// The sessions that have this one play more quietly.
    func duckers(of id: AudioSessionID, in sessions: AudioSessions) -> Set<AudioSessionID> {
        guard let session = sessions[id], let order = session.machine.state.order else { return [] }
        let ducksItself = session.configuration.ducksOthers
        let clients = sessions.all.filter { other, ducker in
            guard other != id, ducker.configuration.ducksOthers, let later = ducker.machine.state.order
            else { return false }
            return !ducksItself || later > order
        }
        return Set(clients.keys).union(own.filter { $0.others != .leave }.map(\.id))
    }

    // MARK: - The plan

    /// The server as it is to be.
    func plan(for sessions: AudioSessions) -> AudioPlan { plan(for: sessions, with: plannedCall) }

    /// What a call would bring of which nothing is known yet: the engine gets ready for this while it rings.
    func expectedPlan(for sessions: AudioSessions) -> AudioPlan {
        var (future, scene) = (sessions, self)
        var unused = AudioTurn(now: BootInstant(nanoseconds: 0))
        if settings.others == .interrupt { future.interrupt(by: .session(.call), &unused) { _, _ in true } }
        scene.ringing = nil
        let expected = AudioPlan.Session(
            id: .call, client: AudioClient(name: "call"), configuration: .voiceCall, others: settings.others,
            isInputOpen: true, isCall: true)
        return scene.plan(for: future, with: expected)
    }

    private func plan(for sessions: AudioSessions, with call: AudioPlan.Session?) -> AudioPlan {
        var plan = AudioPlan(sessions: [call].compactMap(\.self) + planned(sessions))
        // Ringing comes last: it never decides the route.
        if ringing != nil {
            plan.sessions.append(
                AudioPlan.Session(
                    id: .ringing, client: AudioClient(name: "ringing"), configuration: .ringing,
                    others: settings.othersWhileRinging))
        }
        // A process that has an active session too is not silenced, nor ducked with the other one.
        let heard = plan.sessions.flatMap(\.client.processes)
        for (id, session) in sessions.all where session.isSilent {
            plan.silenced[id] = session.client.without(heard)
        }
        if let client = self.call.silenced, call == nil { plan.silenced[.call] = client.without(heard) }
        let ducked = plan.sessions.filter { !duckers(of: $0.id, in: sessions).isEmpty }
        let louder = plan.sessions.filter { !ducked.contains($0) }.flatMap(\.client.processes)
        for session in ducked { plan.ducked[session.id] = session.client.without(louder) }
        plan.isCallWaiting = call == nil && self.call.hasHadFocus
        // Where nothing is wanted of the server, nobody needs to be exempt from it.
        if !plan.isEmpty { plan.exempt = needs.exempt }
        return plan
    }

    /// Clients' sessions that are active or becoming so, the one whose route counts first.
    private func planned(_ sessions: AudioSessions) -> [AudioPlan.Session] {
        sessions.all.compactMap { id, session in
            session.machine.state.order.map { (id: id, session: session, rank: (session.configuration.priority, $0)) }
        }
        .sorted { $0.rank > $1.rank }
        .map { id, session, rank in
            AudioPlan.Session(
                id: id, client: session.client, configuration: session.configuration,
                others: session.configuration.others,
                // Beside a call only if it had the microphone before.
                isInputOpen: session.configuration.category.hasInput && (call.order.map { $0 > rank.1 } ?? true),
                isSpeakerForced: session.isSpeakerForced)
        }
    }
}

extension AudioSessionConfiguration {
    var ducksOthers: Bool { effectiveOptions.contains(.duckOthers) }

    /// Whether a session of this configuration, on becoming active, interrupts one of the other.
    func interrupts(_ other: AudioSessionConfiguration) -> Bool {
        if !isMixable { return !other.isMixable }
        return effectiveOptions.contains(.interruptSpokenAudioAndMixWithOthers) && other.mode == .spokenAudio
    }

    /// What a session of it does to the sound of those who cannot be notified.
    fileprivate var others: AudioPlan.Others { isMixable ? (ducksOthers ? .duck : .leave) : .interrupt }

    /// Which of two sessions' routes counts: those that record, and those that are heard alone, before the others.
    fileprivate var priority: Int { category.hasInput || !isMixable ? 1 : 0 }
}

extension AudioSessions.Session {
    /// Whether its client is not to be heard: it is interrupted, or played on when it became inactive.
    fileprivate var isSilent: Bool {
        switch machine.state {
        case .interrupted, .inactive(isSilenced: true): true
        case .inactive(isSilenced: false), .activating, .active, .deactivating, .lost: false
        }
    }
}

extension AudioClient {
    /// The client without these processes; nil where none of its own is left.
    fileprivate func without(_ others: [Int32]) -> AudioClient? {
        guard !processes.isEmpty else { return self }
        let own = processes.subtracting(others)
        return own.isEmpty ? nil : AudioClient(processes: own, name: name)
    }
}
