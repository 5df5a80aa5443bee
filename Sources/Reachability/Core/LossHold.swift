internal import RunLoop

/// A value that can get worse.
protocol LosableValue: Equatable {
    var status: NetworkPath.Status { get }
    var supportsIPv4: Bool { get }
    var supportsIPv6: Bool { get }
    var supportsDNS: Bool { get }
    /// The interface in use.
    var carrier: NetworkInterface? { get }
    /// The addresses that it is about.
    var destinations: [IPAddress] { get }
}

extension LosableValue {
    /// Whether `self` is only worse than `old`, on the same interface. Such a loss is worth a delay. That a host name
    /// has other addresses is no loss, and does not heal.
    func isLoss(from old: Self) -> Bool {
        if destinations != old.destinations { return false }
        if status != old.status { return status.rank < old.status.rank }
        let pairs = [
            (supportsIPv4, old.supportsIPv4), (supportsIPv6, old.supportsIPv6), (supportsDNS, old.supportsDNS),
        ]
        return pairs.contains { !$0 && $1 } && !pairs.contains { $0 && !$1 } && carrier == old.carrier
    }
}

extension NetworkPath: LosableValue {
    var carrier: NetworkInterface? { interfaces.first }
    var destinations: [IPAddress] { [] }
}

extension TargetReachability: LosableValue {
    var carrier: NetworkInterface? { interface }
    var destinations: [IPAddress] { addresses }
}

extension NetworkPath.Status {
    /// Higher is better.
    var rank: Int {
        switch self {
        case .unsatisfied: 0
        case .requiresConnection: 1
        case .satisfied: 2
        }
    }
}

/// Delays losses for a while, because most of them heal at once: a lease that is renewed, a roaming phone, a daemon
/// that rewrites its routes. Gains and changes are reported immediately.
///
///     none     --offer--> reported <--same--> reported
///     reported --loss---> losing(until) --same as reported--> reported      (nothing was reported)
///                         losing(until) --gain or change--> reported
///                         losing(until) --until is over--> reported
///                         losing(until) --unknown--> reported           (nothing was reported)
struct LossHold<Value: LosableValue> {
    /// The value reported last; nil before the first.
    private(set) var reported: Value?
    /// The value offered last; differs from the reported one only while a loss is delayed.
    private(set) var current: Value?
    /// When the delayed loss is due; nil if no loss is delayed.
    private(set) var deadline: BootClock.Instant?

    /// Whether the value reported last is satisfied, and no loss of it is delayed.
    var isReachable: Bool { reported?.status == .satisfied && deadline == nil }

    /// Takes the current value.
    /// - Parameter isKnown: false if the kernel was silent: the delay of a loss starts again with the next offer.
    /// - Returns: What to report now; nil for nothing.
    mutating func offer(
        _ value: Value, isKnown: Bool = true, at now: BootClock.Instant, holding hold: Duration
    ) -> Value? {
        // While the kernel is silent, the value reported last is the best there is.
        if !isKnown, reported != nil {
            deadline = nil
            return nil
        }
        current = value
        guard let reported, reported != value else {
            deadline = nil
            guard reported == nil else { return nil }
            return report(value)
        }
        guard value.isLoss(from: reported), hold > .zero else { return report(value) }
        // A second loss doesn't extend the delay, and a hold that was shortened applies at once.
        let end = min(deadline ?? .init(nanoseconds: .max), now.advanced(by: hold))
        guard end > now else { return report(value) }
        deadline = end
        return nil
    }

    private mutating func report(_ value: Value) -> Value {
        reported = value
        deadline = nil
        return value
    }
}
