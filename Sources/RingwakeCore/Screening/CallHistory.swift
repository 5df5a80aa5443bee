/// The recent calls, for counting. It stores calls and callers only as hashes. These cannot be reversed or chosen,
/// because each process has its own random seed.
package struct CallHistory: Sendable {
    /// The maximum number of calls; the oldest is dropped.
    package static let capacity = 4_096

    private struct Arrival: Sendable {
        var call: Int
        var app: Int
        /// Nil while the caller is unknown.
        var caller: Int?
        var at: BootInstant
        /// Whether a rule kept the call from ringing: then it counts towards no limit.
        var isKeptOut: Bool
    }

    // A ring buffer once it is full: then `next` is the oldest.
    private var arrivals: [Arrival] = []
    private var next = 0
    /// The index of each call, by its hash.
    private var places: [Int: Int] = [:]

    package init() {}

    /// The current number of calls.
    package var count: Int { arrivals.count }

    /// When the call arrived; nil if it is not stored.
    func arrival(of call: CallKey) -> BootInstant? { index(of: call).map { arrivals[$0].at } }

    /// Whether the call's caller is stored.
    func knowsCaller(of call: CallKey) -> Bool { index(of: call).map { arrivals[$0].caller != nil } ?? false }

    /// Adds a call, or updates one: each call counts once.
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

    /// Excludes a call from counting.
    mutating func forget(_ call: CallKey) {
        guard let index = index(of: call) else { return }
        arrivals[index].isKeptOut = true
        arrivals[index].caller = nil
    }

    /// The number of the app's counted calls since `start`, without `call` itself; only those of `caller` if that is
    /// given.
    func count(for call: CallKey, caller: CallerHandle? = nil, since start: BootInstant) -> Int {
        let (own, app, wanted) = (call.hashValue, call.app.hashValue, caller?.hashValue)
        return arrivals.count { arrival in
            arrival.at > start && arrival.app == app && arrival.call != own && !arrival.isKeptOut
                && (wanted == nil || arrival.caller == wanted)
        }
    }

    /// A person does not call again within this time; a call that arrives over two apps does.
    private static let forkTime = Duration.seconds(5)

    /// Whether the caller made another call from `start` to `end`, over any app. A call that arrives over two apps at
    /// once is one call.
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
