/// The audio state besides the clients' sessions, and the rules: which sessions may become active, which are
/// interrupted, which are ducked, and the wanted state of the server.
///
/// Priorities: call (3) > recordings and playback that is not mixable (1) > mixable (0). Level 2 is free.
///
/// | A is active and B asks: | B mixable | B ducks others | B interrupts speech | B not mixable |
/// |---|---|---|---|---|
/// | A mixable | both | A ducked | both; speech is interrupted | both |
/// | A not mixable | both | A ducked | both; speech is interrupted | A interrupted |
/// | A is the call, or rings and interrupts | both, B ducked | both, B ducked | both, B ducked | see below |
/// | B is the call, or rings | as the user's settings say: A interrupted, ducked or left alone ||||
///
/// - While A is the call, or rings and interrupts: playback that is not mixable counts as mixable, without the
///   microphone; any other session B that is not mixable is refused.
/// - A session that ducks others does not duck one that became active later and ducks others itself.
/// - During a call, only sessions that had the microphone before keep it.
struct AudioScene: Hashable, Sendable {
    /// A session of the daemon itself.
    struct Own {
        let id: AudioSessionID
        /// What it does to others.
        let others: AudioPlan.Others
        let order: UInt64
    }

    var settings: CallAudioSettings
    /// What the calls need, as last reported.
    var needs = CallAudioNeeds.none
    var call = CallSession()
    /// The order number of the ringing session; nil while ringing does not affect others.
    var ringing: UInt64?
    var engine: AudioEngineView

    init(settings: CallAudioSettings) {
        self.settings = settings
        engine = AudioEngineView(isUsed: settings.hasEngine)
    }

    /// The call's session for the plan.
    var plannedCall: AudioPlan.Session? { call.planned(others: settings.others) }

    /// The daemon's sessions, the strongest first.
    var own: [Own] {
        let call = call.order.map { Own(id: .call, others: settings.others, order: $0) }
        let ringing = ringing.map { Own(id: .ringing, others: settings.othersWhileRinging, order: $0) }
        return [call, ringing].compactMap(\.self)
    }

    /// The session that no client's session interrupts: the call, or ringing that interrupts others.
    var holder: Own? { own.first { $0.id == .call || $0.others == .interrupt } }

    /// Whether an interrupter that is not a client's session is present.
    func contains(_ interrupter: AudioInterrupter) -> Bool {
        switch interrupter {
        case .session(let id): own.contains { $0.id == id }
        case .microphone: engine.server.isMicrophoneMuted
        }
    }

    /// The error of an activation that takes too long.
    var timedOut: AudioSessionError {
        AudioSessionError(
            .mediaServicesFailed,
            "the audio server has not answered within \(settings.activationTime.milliseconds) ms; try again")
    }

    /// The deadline of an activation or a deactivation that begins now.
    func limit(from now: BootInstant) -> BootInstant { now.advanced(by: max(settings.activationTime, .zero)) }

    // MARK: - The rules

    /// Why a session may not have `configuration`; nil if it may.
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

    /// The sessions that duck this one.
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

    /// The wanted state of the server.
    func plan(for sessions: AudioSessions) -> AudioPlan { plan(for: sessions, with: plannedCall) }

    /// The plan with a call whose details aren't known yet. The engine prepares for it while the call rings.
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
        // Ringing comes last, so that it never decides the route.
        if ringing != nil {
            plan.sessions.append(
                AudioPlan.Session(
                    id: .ringing, client: AudioClient(name: "ringing"), configuration: .ringing,
                    others: settings.othersWhileRinging))
        }
        // Don't silence a process that also has an active session, and don't duck one that also has a session that is
        // not ducked.
        let heard = plan.sessions.flatMap(\.client.processes)
        for (id, session) in sessions.all where session.isSilent {
            plan.silenced[id] = session.client.without(heard)
        }
        if let client = self.call.silenced, call == nil { plan.silenced[.call] = client.without(heard) }
        let ducked = plan.sessions.filter { !duckers(of: $0.id, in: sessions).isEmpty }
        let louder = plan.sessions.filter { !ducked.contains($0) }.flatMap(\.client.processes)
        for session in ducked { plan.ducked[session.id] = session.client.without(louder) }
        plan.isCallWaiting = call == nil && self.call.hasHadFocus
        // A plan that wants nothing of the server needs no exemptions.
        if !plan.isEmpty { plan.exempt = needs.exempt }
        return plan
    }

    /// Clients' sessions that are active or activating, the one that decides the route first.
    private func planned(_ sessions: AudioSessions) -> [AudioPlan.Session] {
        sessions.all.compactMap { id, session in
            session.machine.state.order.map { (id: id, session: session, rank: (session.configuration.priority, $0)) }
        }
        .sorted { $0.rank > $1.rank }
        .map { id, session, rank in
            AudioPlan.Session(
                id: id, client: session.client, configuration: session.configuration,
                others: session.configuration.others,
                // During a call, only if the session had the microphone before.
                isInputOpen: session.configuration.category.hasInput && (call.order.map { $0 > rank.1 } ?? true),
                isSpeakerForced: session.isSpeakerForced)
        }
    }
}

extension AudioSessionConfiguration {
    var ducksOthers: Bool { effectiveOptions.contains(.duckOthers) }

    /// Whether a session with this configuration, on becoming active, interrupts one with the other.
    func interrupts(_ other: AudioSessionConfiguration) -> Bool {
        if !isMixable { return !other.isMixable }
        return effectiveOptions.contains(.interruptSpokenAudioAndMixWithOthers) && other.mode == .spokenAudio
    }

    /// What a session with this configuration does to the sound of programs that cannot be notified.
    fileprivate var others: AudioPlan.Others { isMixable ? (ducksOthers ? .duck : .leave) : .interrupt }

    /// Rank for the choice of the route: sessions that record or are not mixable come first.
    fileprivate var priority: Int { category.hasInput || !isMixable ? 1 : 0 }
}

extension AudioSessions.Session {
    /// Whether its client must be silent: it is interrupted, or kept playing when it became inactive.
    fileprivate var isSilent: Bool {
        switch machine.state {
        case .interrupted, .inactive(isSilenced: true): true
        case .inactive(isSilenced: false), .activating, .active, .deactivating, .lost: false
        }
    }
}

extension AudioClient {
    /// The client without these processes; nil if none of its own is left.
    fileprivate func without(_ others: [Int32]) -> AudioClient? {
        guard !processes.isEmpty else { return self }
        let own = processes.subtracting(others)
        return own.isEmpty ? nil : AudioClient(processes: own, name: name)
    }
}
