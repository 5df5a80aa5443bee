/// The calls that came lately, so that they can be counted. It knows calls and callers by hashes alone, which nobody
/// can turn back or choose: they begin at a number that each process has for itself.
package struct CallHistory: Sendable {
    /// How many calls it remembers; the oldest one makes way.
    package static let capacity = 4_096

    private struct Arrival: Sendable {
        var call: Int
        var app: Int
        /// Nil while nobody has said who calls.
        var caller: Int?
        var at: BootInstant
        /// Whether do not disturb kept it out: it was no disturbance then, and counts towards no limit.
        var isKeptOut: Bool
    }

    // A ring once it is full: `next` is the oldest then.
    private var arrivals: [Arrival] = []
    private var next = 0
    /// Where each call is, by its hash.
    private var places: [Int: Int] = [:]

    package init() {}

    /// How many it remembers now.
    package var count: Int { arrivals.count }

    /// When a call came that is remembered.
    func arrival(of call: CallKey) -> BootInstant? { index(of: call).map { arrivals[$0].at } }

    /// Whether its caller is counted.
    func knowsCaller(of call: CallKey) -> Bool { index(of: call).map { arrivals[$0].caller != nil } ?? false }

    /// Writes a call down, or what has become known of one that is there: each counts once.
    mutating func record(_ call: CallKey, caller: CallerHandle?, at now: BootInstant, isKeptOut: Bool) {
        if let index = index(of: call) {
            arrivals[index].caller = caller?.hashValue ?? arrivals[index].caller
            arrivals[index].isKeptOut = isKeptOut
            return
        }
        let arrival = Arrival(
            call: call.hashValue, app: call.app.hashValue, caller: caller?.hashValue, at: now, isKeptOut: isKeptOut)
        if arrivals.count < CallHistory.capacity {
            places[arrival.call] = arrivals.count
            arrivals.append(arrival)
        } else {
            places[arrivals[next].call] = nil
            places[arrival.call] = next
            arrivals[next] = arrival
            next = (next + 1) % CallHistory.capacity
        }
    }

    /// Forgets a call that turned out to be none that counts.
    mutating func forget(_ call: CallKey) {
        guard let index = index(of: call) else { return }
        arrivals[index].isKeptOut = true
        arrivals[index].caller = nil
    }

    /// How many calls of the app were let in since `start`, without `call` itself; of one caller, where one is given.
    func count(for call: CallKey, caller: CallerHandle? = nil, since start: BootInstant) -> Int {
        let (own, app, wanted) = (call.hashValue, call.app.hashValue, caller?.hashValue)
        return arrivals.count { arrival in
            arrival.at > start && arrival.app == app && arrival.call != own && !arrival.isKeptOut
                && (wanted == nil || arrival.caller == wanted)
        }
    }

    /// A person does not call again sooner; a call that comes by two apps does.
    private static let forkTime = Duration.seconds(5)

    /// Whether the caller called before, by any app, at `start` or later and before `end`, in another call than this. A
    /// call that comes by two apps at once is one call.
    func hasCalled(_ caller: CallerHandle, before end: BootInstant, since start: BootInstant, except call: CallKey)
        -> Bool
    {
        let (own, app, wanted) = (call.hashValue, call.app.hashValue, caller.hashValue)
        let forkedSince = end.advanced(by: .zero - CallHistory.forkTime)
        return arrivals.contains { arrival in
            arrival.caller == wanted && arrival.call != own && arrival.at >= start && arrival.at <= end
                && (arrival.app == app || arrival.at <= forkedSince)
        }
    }

    private func index(of call: CallKey) -> Int? { places[call.hashValue] }
}
