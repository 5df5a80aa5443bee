internal import ControlProtocol
internal import RingwakeCore

/// Requests about calls whose result depends on the journal or another call.
struct PendingAnswers: Sendable {
    private var waiting: [CallKey: [(request: RequestID, verb: CallVerb)]] = [:]

    /// Calls with waiting requests.
    var calls: Dictionary<CallKey, [(request: RequestID, verb: CallVerb)]>.Keys { waiting.keys }

    mutating func add(_ request: RequestID, _ verb: CallVerb, of key: CallKey) {
        waiting[key, default: []].append((request, verb))
    }

    /// Answers the requests whose result is known.
    mutating func settle(_ coordinator: CoordinatorStateMachine, _ turn: inout Turn) {
        for key in waiting.keys {
            guard let call = coordinator.call(key) else {
                fail(key, .unknownCall(key), &turn)
                continue
            }
            if case .confirmed = call.machine.state { continue }
            guard !coordinator.waitsForOthers(key) else { continue }
            let message = turn.message(of: call, coordinator)
            for (request, verb) in take(key) {
                guard [.answer, .end, .decline, .ended, .connected].contains(verb) else {
                    turn.respond(request, message)
                    continue
                }
                // A call that was answered or ended must not ring again, even if the daemon dies right after the
                // response. The response comes even if the disk fails or hangs.
                turn.add(.barrier { _, turn in turn.respond(request, message) })
            }
        }
    }

    /// Removes and returns the requests that wait for this call, the oldest first.
    private mutating func take(_ key: CallKey) -> [(request: RequestID, verb: CallVerb)] {
        waiting.removeValue(forKey: key) ?? []
    }

    /// Fails the requests that wait for this call.
    mutating func fail(_ key: CallKey, _ refusal: EventRefusal, _ turn: inout Turn) {
        for (request, verb) in take(key) { turn.respond(request, .failure(refusal.error("'\(verb.rawValue)'"))) }
    }

    /// The client left.
    mutating func remove(_ request: RequestID) {
        for key in waiting.keys { waiting[key]?.removeAll { $0.request == request } }
        waiting = waiting.filter { !$0.value.isEmpty }
    }
}
