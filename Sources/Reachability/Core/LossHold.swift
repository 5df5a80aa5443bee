internal import RunLoop

/// Something that may get worse: what a loss is, is for it to say.
protocol LosableValue: Equatable {
    /// Whether `self` is less than `old` and nothing else: then it is worth waiting whether it comes back.
    func isLoss(from old: Self) -> Bool
}

/// Keeps back losses for a while, because most of them heal at once: a lease that is renewed, a roaming phone, a daemon
/// that rewrites its routes. Gains and changes are told as they come.
///
///     untold --offer--> told <--same--> told
///     told   --loss--> losing(until) --same as told--> told      (nothing was said)
///                      losing(until) --gain or change--> told
///                      losing(until) --until is over--> told
///                      losing(until) --interrupt--> told         (nothing was said)
struct LossHold<Value: LosableValue> {
    /// What was told last; nil before the first.
    private(set) var told: Value?
    /// When a loss that is held back is to be told; nil when none is.
    private(set) var deadline: BootClock.Instant?

    /// Takes how things are now.
    /// - Returns: What to tell now; nil for nothing.
    mutating func offer(_ value: Value, at now: BootClock.Instant, holding hold: Duration) -> Value? {
        guard let told, told != value else {
            deadline = nil
            guard told == nil else { return nil }
            return tell(value)
        }
        guard value.isLoss(from: told), hold > .zero else { return tell(value) }
        // Not later than it was to be, and not later than with a hold that is shorter by now.
        let end = min(deadline ?? .init(nanoseconds: .max), now.advanced(by: hold))
        guard end > now else { return tell(value) }
        deadline = end
        return nil
    }

    /// Nobody knows how things are now: a loss that is held back begins anew with the next offer.
    mutating func interrupt() {
        deadline = nil
    }

    private mutating func tell(_ value: Value) -> Value {
        told = value
        deadline = nil
        return value
    }
}

/// What both kinds of value are compared by.
private struct Usability {
    let status: NetworkPath.Status
    let supports: [Bool]
    let interface: NetworkInterface?

    /// Less than `old` on the same interface: another interface is a change, which is told at once.
    func isLoss(from old: Usability) -> Bool {
        if status != old.status { return status.rank < old.status.rank }
        let pairs = zip(supports, old.supports)
        return pairs.contains { !$0 && $1 } && !pairs.contains { $0 && !$1 } && interface == old.interface
    }
}

extension NetworkPath.Status {
    /// How far the way is usable; more is better.
    fileprivate var rank: Int {
        switch self {
        case .unsatisfied: 0
        case .requiresConnection: 1
        case .satisfied: 2
        }
    }
}

extension NetworkPath: LosableValue {
    func isLoss(from old: NetworkPath) -> Bool { usability.isLoss(from: old.usability) }

    private var usability: Usability {
        Usability(
            status: status, supports: [supportsIPv4, supportsIPv6, supportsDNS], interface: interfaces.first)
    }
}

extension TargetReachability: LosableValue {
    func isLoss(from old: TargetReachability) -> Bool { usability.isLoss(from: old.usability) }

    private var usability: Usability {
        Usability(status: status, supports: [supportsIPv4, supportsIPv6, supportsDNS], interface: interface)
    }
}
