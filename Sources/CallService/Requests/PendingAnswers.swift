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
            let waits = coordinator.waitsForOthers(key)
            let message = turn.message(of: call, coordinator)
            for (request, verb) in take(key, whereVerb: { !waits || !$0.waitsForOthers }) {
                // Nor is what its handler has said of it lost then.
                guard [.answer, .end, .decline, .ended, .connected, .update].contains(verb) else {
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
    private mutating func take(
        _ key: CallKey, whereVerb isTaken: (CallVerb) -> Bool
    ) -> [(request: RequestID, verb: CallVerb)] {
        let all = waiting.removeValue(forKey: key) ?? []
        let others = all.filter { !isTaken($0.verb) }
        if !others.isEmpty { waiting[key] = others }
        return all.filter { isTaken($0.verb) }
    }

    /// Fails the requests that wait for this call; `isAll` false: those that wait for other calls.
    mutating func fail(_ key: CallKey, _ refusal: EventRefusal, isAll: Bool = true, _ turn: inout Turn) {
        for (request, verb) in take(key, whereVerb: { isAll || $0.waitsForOthers }) {
            turn.respond(request, .failure(refusal.error("'\(verb.rawValue)'")))
        }
    }

    /// The client left.
    mutating func remove(_ request: RequestID) {
        for key in waiting.keys { waiting[key]?.removeAll { $0.request == request } }
        waiting = waiting.filter { !$0.value.isEmpty }
    }
}

extension CallVerb {
    /// Whether it is done only when other calls are held or have ended.
    fileprivate var waitsForOthers: Bool { self == .answer || self == .unhold }
}
