internal import ControlProtocol
internal import RingwakeCore
internal import RingwakeKit

/// Somebody waits for something to be so.
struct Wait: Sendable {
    /// Looks; when it is so, says what to tell and is done with.
    let look: @Sendable (inout DaemonState) -> DaemonState.Delivery?
    /// What to tell when nobody waits any more.
    let cancelled: DaemonState.Delivery
}

extension DaemonState {
    mutating func nextWait() -> UInt64 {
        lastWait += 1
        return lastWait
    }

    /// Tells `resume` what `look` finds, as soon as it finds something; nil when the wait was cancelled.
    mutating func wait<Value: Sendable>(
        _ number: UInt64, _ look: @escaping @Sendable (inout DaemonState) -> Value?,
        _ resume: @escaping @Sendable (Value?) -> Void
    ) {
        guard cancelledWaits.remove(number) == nil else { return outbox.append { resume(nil) } }
        let found: @Sendable (inout DaemonState) -> Delivery? = { state in
            guard let value = look(&state) else { return nil }
            return { resume(value) }
        }
        waits[number] = Wait(look: found, cancelled: { resume(nil) })
        tellWaits()
    }

    mutating func cancelWait(_ number: UInt64) {
        if let wait = waits.removeValue(forKey: number) { return outbox.append(wait.cancelled) }
        // It may be cancelled before it has begun.
        cancelledWaits.insert(number)
    }

    mutating func tellWaits() {
        for (number, wait) in waits.sorted(by: { $0.key < $1.key }) {
            guard let deliver = wait.look(&self) else { continue }
            waits[number] = nil
            outbox.append(deliver)
        }
    }

    mutating func changeCellular(_ isActive: Bool) {
        guard isActive != coordinator.isCellularActive else { return }
        publish(EventMessage(cellular: isActive), of: nil)
        submit(.cellularChanged(isActive: isActive))
    }

    mutating func changeNetwork(_ path: PathMessage) {
        self.path = path
        publish(EventMessage(path: path, of: nil), of: nil)
        submit(.networkChanged)
    }

    mutating func tellCredentials() {
        publish(EventMessage(credentialsOf: app, areValid: !tokens.isEmpty), of: nil)
    }
}

/// A push as a test writes it.
struct SimulatedPush: Sendable {
    var apnsID: String?
    var call: String?
    var caller: String?
    var callerName: String?
    var hasVideo: Bool?
    var payload = "{}"
    var expiresAfter: Duration?
    var ringTime: Duration?
    var cancel: RingwakeCore.CallEndReason?
}

extension SimulatedCall {
    init(of call: RingwakeCore.Call, rings: Int) {
        let machine = call.machine
        self.init(
            id: .init(rawValue: call.key.id.rawValue), state: CallState(rawValue: machine.state.name.rawValue),
            endReason: machine.state.endReason.map { RingwakeKit.CallEndReason(rawValue: $0.rawValue) },
            endDetail: machine.state.endDetail, caller: call.update.caller, callerName: call.update.callerName,
            identifiedAs: call.update.identifiedAs, hasVideo: call.update.hasVideo, isMuted: machine.isMuted,
            pendingActions: machine.owed.map { RingwakeKit.CallAction.Kind(rawValue: $0.action.rawValue) },
            isLost: machine.claimBy != nil, rings: rings,
            attempt: call.attempt, filter: call.restriction.map { CallFilter(rawValue: $0.kind.rawValue) })
    }
}

extension SimulatedRefusal {
    init(_ refusal: EventRefusal, of request: UserRequest) {
        let error = refusal.error("'\(request)'")
        self.init(code: error.code.slug, message: error.message)
    }
}
