internal import RingwakeCore

// Pushes: from outside, as a sender would send them, and what keeps their calls out.
extension DaemonState {
    /// - Returns: whether the sender is answered 200.
    mutating func receive(_ sent: SimulatedPush) -> Bool {
        guard isRunning else { return false }
        pushesSent += 1
        let payload = Array(sent.payload.utf8)
        let expiration = sent.expiresAfter.map { VerifiedPush.Expiration.at(now.advanced(by: $0)) }
        let push = VerifiedPush(
            apnsID: sent.apnsID ?? "00000000-0000-4000-8000-" + padded(pushesSent), app: app, topic: .voip(of: app),
            environment: .production, sender: .token(team: SimulatedDaemon.team, keyID: "SIMULATED0"),
            priority: .immediate, expiration: expiration, collapseID: nil, payload: payload, receivedAt: now,
            verifiedAt: now)
        var facts = PushFacts()
        if let mapping = settings.mapping {
            facts = mapping.facts(in: payload, receivedAt: now, wallClock: moment.wallMilliseconds).facts
        }
        facts.call = sent.call.map { CallID($0) } ?? facts.call
        facts.update.caller = sent.caller ?? facts.update.caller
        facts.update.callerName = sent.callerName ?? facts.update.callerName
        facts.update.hasVideo = sent.hasVideo ?? facts.update.hasVideo
        facts.ringTime = sent.ringTime ?? facts.ringTime
        facts.cancel = sent.cancel ?? facts.cancel
        let restriction = restriction(of: push, &facts)
        return submit(.pushReceived(push, facts, policy, restriction)).refusal == nil
    }

    private func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }

    /// What keeps the call of a push out, as far as its caller is known; as the daemon judges it.
    private mutating func restriction(of push: VerifiedPush, _ facts: inout PushFacts) -> Restriction? {
        let key = CallKey(app: app, id: facts.call ?? CallID(push.apnsID.lowercased()))
        guard facts.cancel == nil, coordinator.call(key) == nil else { return nil }
        let caller = facts.update.caller.map { CallerHandle($0) }
        let listed = caller.flatMap { lists.verdict(on: $0) }
        facts.update.identifiedAs = listed?.label
        return judge(key, caller, listed, isReport: false)
    }

    /// The same when the handler reports the call: who has not said who calls by then is anonymous.
    mutating func restriction(ofReport update: inout RingwakeCore.CallUpdate, of key: CallKey) -> Restriction? {
        guard let call = coordinator.active[key] else { return nil }
        switch call.machine.state {
        case .queued, .woken: break
        default: return nil
        }
        let caller = (update.caller ?? call.update.caller).map { CallerHandle($0) }
        let listed = lists.verdict(on: caller ?? .anonymous)
        update.identifiedAs = listed?.label
        return judge(key, caller, listed, isReport: true)
    }

    private mutating func judge(
        _ key: CallKey, _ caller: CallerHandle?, _ listed: ListVerdict?, isReport: Bool
    ) -> Restriction? {
        let call = ScreenedCall(call: key, limits: settings.limits, caller: caller, listed: listed)
        return rules.restriction(for: call, isReport: isReport, at: now, moment: moment)
    }

    // MARK: - Credentials

    /// New device tokens: the old ones are of no use any more.
    mutating func renewTokens() {
        tokensMade += 1
        for (index, environment) in PushEnvironment.allCases.enumerated() {
            let bytes = (0..<DeviceToken.byteCount).map { UInt8(truncatingIfNeeded: $0 &+ index &* 64) ^ tokensMade }
            tokens[environment] = DeviceToken(bytes: bytes)
        }
    }
}
