// What follows from the sessions for the server.
extension AudioArbiter {
    /// The server as it is to be.
    package var plan: AudioPlan { plan(call: callToPlan) }

    /// What it would be with a call that nothing is known of yet: for this the engine gets ready while it rings.
    var expectedPlan: AudioPlan {
        var future = self
        var unused = Turn(now: BootInstant(nanoseconds: 0))
        if settings.others == .interrupt {
            for id in sessions.keys { future.interrupt(id, by: .session(.call), .default, &unused) }
        }
        future.ringing = nil
        return future.plan(
            call: AudioPlan.Session(
                id: .call, client: AudioClient(name: "call"), configuration: .voiceCall, others: settings.others,
                isInputOpen: true, isCall: true))
    }

    /// The session of the call in focus; nil: there is none, or it could not be made active.
    var callToPlan: AudioPlan.Session? {
        guard call.state.isInPlan, let focus = call.state.focus else { return nil }
        let isRetained = if case .retained = call.state { true } else { false }
        return AudioPlan.Session(
            id: .call, client: focus.client, configuration: focus.configuration, others: settings.others,
            isInputOpen: focus.configuration.category.hasInput && !isRetained, isMuted: focus.isMuted,
            isSpeakerForced: call.isSpeakerForced, isCall: true)
    }

    private func plan(call planned: AudioPlan.Session?) -> AudioPlan {
        var plan = AudioPlan()
        if let planned { plan.sessions.append(planned) }
        plan.sessions.append(contentsOf: sessionsToPlan)
        // Ringing comes last: it never decides the route.
        if ringing != nil {
            plan.sessions.append(
                AudioPlan.Session(
                    id: .ringing, client: AudioClient(name: "ringing"), configuration: .ringing,
                    others: settings.othersWhileRinging))
        }
        // A process that has an active session too is not silenced, nor ducked with the other one.
        let heard = plan.sessions.reduce(into: Set<Int32>()) { $0.formUnion($1.client.processes) }
        for (id, session) in sessions where session.isSilent {
            plan.silenced[id] = session.client.without(heard)
        }
        if let client = call.silenced, planned == nil { plan.silenced[.call] = client.without(heard) }
        let ducked = Set(plan.sessions.map(\.id).filter { !duckers(of: $0).isEmpty })
        let louder = plan.sessions.filter { !ducked.contains($0.id) }.reduce(into: Set<Int32>()) {
            $0.formUnion($1.client.processes)
        }
        for session in plan.sessions where ducked.contains(session.id) {
            plan.ducked[session.id] = session.client.without(louder)
        }
        plan.isCallWaiting = planned == nil && call.hasHadFocus
        // Where nothing is wanted of the server, nobody needs to be exempt from it.
        if !plan.isEmpty { plan.exempt = needs.exempt }
        return plan
    }

    /// Clients' sessions that are active or becoming so, the one whose route counts first.
    private var sessionsToPlan: [AudioPlan.Session] {
        let inForce = sessions.compactMap { id, session in
            session.machine.state.order.map { (id: id, session: session, order: $0) }
        }
        let sorted = inForce.sorted { left, right in
            let (leftPriority, rightPriority) = (
                left.session.configuration.priority, right.session.configuration.priority
            )
            return leftPriority != rightPriority ? leftPriority > rightPriority : left.order > right.order
        }
        return sorted.map { id, session, _ in
            AudioPlan.Session(
                id: id, client: session.client, configuration: session.configuration,
                others: session.configuration.others, isInputOpen: mayRecord(session),
                isSpeakerForced: session.isSpeakerForced)
        }
    }
}

extension AudioArbiter.Session {
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
    fileprivate func without(_ others: Set<Int32>) -> AudioClient? {
        guard !processes.isEmpty else { return self }
        var client = self
        client.processes.subtract(others)
        return client.processes.isEmpty ? nil : client
    }
}
