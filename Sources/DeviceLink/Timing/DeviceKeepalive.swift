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
        /// A probe failed, or a second link. One dead link may be an accident.
        let isCertain: Bool
    }

    init(trusted: Duration, failure: Failure? = nil) {
        self.trusted = trusted
        self.failure = failure
    }

    /// The idle time that is known to fail; nil if none is.
    package var limit: Duration? { failure.flatMap { $0.isCertain ? $0.idle : nil } }

    /// The device has linked. A failure that nothing confirmed in a day was an accident: a device without probes has no
    /// other way back.
    mutating func linked(at now: BootInstant) {
        guard let first = failure, !first.isCertain, first.foundAt.advanced(by: KeepaliveRules.firstHold) <= now else {
            return
        }
        survived(first.idle)
    }

    /// A probe was idle for this long and lives.
    mutating func survived(_ idle: Duration) {
        trusted = max(trusted, idle)
        if let failure, failure.idle <= idle { self.failure = nil }
    }

    /// A probe died after this idle time.
    mutating func probeDied(_ idle: Duration, at now: BootInstant) {
        failure = Failure(idle: idle, foundAt: now, isCertain: true)
    }

    /// A link died after this idle time.
    mutating func linkDied(_ idle: Duration, shortest: Duration, at now: BootInstant) {
        guard idle + KeepaliveRules.tolerance >= shortest, idle <= trusted + KeepaliveRules.tolerance else { return }
        trusted = min(trusted, max(idle / 2 - KeepaliveRules.margin, shortest))
        let confirmed = failure.flatMap { $0.isCertain ? nil : max($0.idle, idle) }
        failure = Failure(idle: confirmed ?? idle, foundAt: now, isCertain: confirmed != nil)
    }

    /// What a probe of the device tries, so that it may use the interval of its network; nil if that is not worth it.
    ///
    /// - Parameter shared: the interval of the network.
    package func goal(_ shared: Duration, at now: BootInstant) -> Duration? {
        var next = shared
        if let failure, failure.idle <= shared {
            let isRetry = !failure.isCertain || failure.foundAt.advanced(by: KeepaliveRules.longestHold) <= now
            let half = Duration.seconds(((trusted + failure.idle) / 2).components.seconds)
            next = isRetry ? failure.idle : min(half, failure.idle - KeepaliveRules.margin)
        }
        return next - trusted >= KeepaliveRules.smallestGain ? next : nil
    }
}
