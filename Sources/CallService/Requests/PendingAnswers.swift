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

    /// Removes and returns the requests that wait for this call, the oldest first.
    mutating func take(_ key: CallKey) -> [(request: RequestID, verb: CallVerb)] {
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
