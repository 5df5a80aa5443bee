package import RingwakeCore

/// What the links and probes of one device have shown of one network.
///
/// What all devices of a network learn together (``NetworkKeepalive``) makes the interval of each one shorter, but longer
/// only up to what the device's own probes survived. Two networks can look alike from outside and have different NATs,
/// and a device can lie.
package struct DeviceKeepalive: Hashable, Sendable {
    /// The longest interval for this device.
    package private(set) var trusted: Duration
    private(set) var failure: Failure?

    struct Failure: Hashable, Sendable {
        let idle: Duration
        let foundAt: BootInstant
        let cause: Cause
    }

    enum Cause: String, Hashable, Sendable {
        /// One dead link, which may be an accident.
        case link
        case links
        case probe
    }

    init(trusted: Duration, failure: Failure? = nil) {
        self.trusted = trusted
        self.failure = failure
    }

    /// The idle time that is known to fail; nil if none is.
    package var limit: Duration? { failure.flatMap { $0.cause == .link ? nil : $0.idle } }

    /// The device has linked. A failure that nothing confirmed in a day was an accident: a device without probes has no
    /// other way back.
    mutating func linked(at now: BootInstant) {
        guard let failure, failure.cause == .link, failure.foundAt.advanced(by: KeepaliveRules.firstHold) <= now else {
            return
        }
        survived(failure.idle)
    }

    /// A probe was idle for this long and lives.
    mutating func survived(_ idle: Duration) {
        trusted = max(trusted, idle)
        if let failure, failure.idle <= idle { self.failure = nil }
    }

    /// A probe died after this idle time, while the link lived with a shorter interval.
    mutating func probeDied(_ idle: Duration, linkInterval: Duration, at now: BootInstant) {
        trusted = min(trusted, linkInterval)
        failure = Failure(idle: idle, foundAt: now, cause: .probe)
    }

    /// A link died after this idle time.
    mutating func linkDied(_ idle: Duration, shortest: Duration, at now: BootInstant) {
        guard idle + KeepaliveRules.tolerance >= shortest, idle <= trusted + KeepaliveRules.tolerance else { return }
        trusted = min(trusted, max(idle / 2 - KeepaliveRules.margin, shortest))
        // A known limit stays: probes find the way up to it.
        guard let first = failure else {
            failure = Failure(idle: idle, foundAt: now, cause: .link)
            return
        }
        if first.cause == .link { failure = Failure(idle: max(first.idle, idle), foundAt: now, cause: .links) }
    }

    /// What a probe of the device tries so that it may use the interval of its network, and when; never, if it has that
    /// interval, or nearly.
    ///
    /// - Parameter shared: the interval of the network.
    package func catchUp(with shared: Duration, at now: BootInstant) -> KeepaliveLearner.NextProbe {
        guard shared - trusted >= KeepaliveRules.smallestGain else { return .never }
        guard let failure, failure.idle <= shared else { return .now(shared) }
        if failure.cause != .link {
            let half = Duration.seconds(((trusted + failure.idle) / 2).components.seconds)
            let next = min(half, failure.idle - KeepaliveRules.margin)
            if next - trusted >= KeepaliveRules.smallestGain { return .now(next) }
            let hold = failure.cause == .probe ? KeepaliveRules.longestHold : KeepaliveRules.firstHold
            let end = failure.foundAt.advanced(by: hold)
            guard end <= now else { return .after(now.duration(to: end)) }
        }
        let isWorthwhile = failure.idle - trusted >= KeepaliveRules.smallestGain
        return .now(isWorthwhile ? failure.idle : min(shared, trusted + KeepaliveRules.growth))
    }
}
